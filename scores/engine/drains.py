"""The drains of this process: at most one for each grader. No wake-up is lost between two claims."""

import threading
import time
from uuid import UUID

from django.db import connection

from autotune.core.clock import database_now
from autotune.core.errors import Unreadable
from graders.hosted import children
from scores.engine import claims, sweep, unsigned_runs, wakeups
from scores.engine.drain import Drain, callable_grader

TIME_LIMIT_S = 20.0  # then the thread serves other graders, and a new drain continues

_lock = threading.Lock()
_wake_events: dict[UUID, threading.Event] = {}
_ending = threading.Event()


def drain(grader_id: UUID) -> None:
    """Score the due runs of a grader. If this process drains it already, wake that drain instead."""
    with _lock:
        if running := _wake_events.get(grader_id):
            running.set()
            return
        wake_event = _wake_events[grader_id] = threading.Event()
    unfinished = False
    try:
        unfinished = _drain(grader_id, wake_event)
    finally:
        with _lock:
            del _wake_events[grader_id]
            unfinished = unfinished or wake_event.is_set()
        connection.close()
    if unfinished:
        wakeups.send(grader_id)


def ask(grader_id: UUID) -> bool:
    """Wake the drain that this process runs for a grader. Return False if there is none."""
    with _lock:
        if running := _wake_events.get(grader_id):
            running.set()
        return running is not None


def close() -> None:
    """End the drains of this process. Each finishes its open calls and returns the other runs for other processes."""
    _ending.set()
    children.close()


def _drain(grader_id: UUID, wake_event: threading.Event) -> bool:
    """Run one drain. Return True if it ended early and runs may still be due."""
    wakeups.acknowledge(grader_id)
    grader = callable_grader(grader_id)
    if grader is None:
        return False
    if grader.held_until is not None and grader.held_until > database_now():
        claims.rest(grader_id, grader.held_until, grader.held_reason)
        return False

    def consume_wake_up() -> bool:
        if not wake_event.is_set():
            return False
        wake_event.clear()
        wakeups.acknowledge(grader_id)
        return True

    until = time.monotonic() + TIME_LIMIT_S
    try:
        work = Drain(grader, until=until, is_woken=consume_wake_up, ending=_ending.is_set)
    except Unreadable:
        unsigned_runs.miss_due_runs(grader, until=until)
        return False
    work.run()
    if work.gone:
        sweep.fail_gone(grader_id)
    return work.stopped and not (work.gone or work.paused)
