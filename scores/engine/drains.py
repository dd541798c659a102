"""Who drains what in this process: at most one drain for a grader, and a wake-up is never lost between two claims."""

import threading
import time
from uuid import UUID

from django.db import connection

from autotune.core.clock import database_now
from autotune.core.errors import Unreadable
from scores.engine import claims, sweep, unsigned_runs, wakeups
from scores.engine.drain import Drain, callable_grader

TIME_LIMIT_S = 20.0  # then other graders have their turn, and a successor goes on

_lock = threading.Lock()
_asked: dict[UUID, threading.Event] = {}
_ending = threading.Event()


def drain(grader_id: UUID) -> None:
    """Score what is due for a grader. If this process drains it already, that drain looks once more."""
    with _lock:
        if running := _asked.get(grader_id):
            running.set()
            return
        asked = _asked[grader_id] = threading.Event()
    unfinished = False
    try:
        unfinished = _drain(grader_id, asked)
    finally:
        with _lock:
            del _asked[grader_id]
            unfinished = unfinished or asked.is_set()
        connection.close()
    if unfinished:
        wakeups.send(grader_id)


def ask(grader_id: UUID) -> bool:
    """Let the drain that this process runs for a grader look once more; False if there is none."""
    with _lock:
        if running := _asked.get(grader_id):
            running.set()
        return running is not None


def close() -> None:
    """The process is told to end: its drains end with the calls that are out, give back the rest and hand over."""
    _ending.set()


def _drain(grader_id: UUID, asked: threading.Event) -> bool:
    """One drain; True if it ended before its work, with some perhaps left."""
    wakeups.begun(grader_id)
    grader = callable_grader(grader_id)
    if grader is None:
        return False
    if grader.held_until is not None and grader.held_until > database_now():
        claims.rest(grader_id, grader.held_until, grader.held_reason)
        return False

    def was_asked() -> bool:
        if not asked.is_set():
            return False
        asked.clear()
        wakeups.begun(grader_id)
        return True

    until = time.monotonic() + TIME_LIMIT_S
    try:
        work = Drain(grader, until=until, asked=was_asked, ending=_ending.is_set)
    except Unreadable:
        unsigned_runs.miss_due_runs(grader, until=until)
        return False
    work.run()
    if work.gone:
        sweep.fail_gone(grader_id)
    return work.stopped and not (work.gone or work.held)
