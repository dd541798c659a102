"""The sweeper of a worker process: a thread that sweeps every second and drains graders whose due runs have no worker.

The sweepers of all processes share the sweeps: a sweeper skips its pass if another one swept within its interval. The
intervals vary, so that each process sweeps from time to time.

It runs drains itself and does not only send messages, so scoring continues while the broker is unavailable.
"""

import logging
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from django.db import connection

from autotune.core import connections, logs
from scores.engine import drains, pulses
from scores.engine.sweep import sweep

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
EVERY_S = 1.0
VARIATION = 0.2  # of the interval, up and down
RECENT = 0.7  # part of the interval; a younger sweep of another process is enough
DRAINERS = 16  # threads for the drains of a sweep: graders that hang must not occupy all of them


class Sweeper:
    """The sweeping thread. Start it once in a process; `stop()` ends it after the current pass."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._in_line: set[UUID] = set()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._pool = ThreadPoolExecutor(DRAINERS, thread_name_prefix="sweeper-drain")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        passes = 0
        while not self._stopping.wait(EVERY_S * random.uniform(1 - VARIATION, 1 + VARIATION)):  # noqa: S311 - no secret
            try:
                if pulses.is_recent(pulses.SWEEP, EVERY_S * RECENT):
                    continue
                passes += 1
                for grader_id in sweep(passes=passes - 1):
                    self._start_drain(grader_id)
            except Exception as exc:  # noqa: BLE001 - the next pass must run whatever failed in this one
                _report(exc, "sweep")
            finally:
                connection.close()

    def _start_drain(self, grader_id: UUID) -> None:
        """Drain a grader on one of our threads. If this process drains it already, that drain checks for work again."""
        if grader_id in self._in_line or drains.ask(grader_id):
            return
        self._in_line.add(grader_id)
        self._pool.submit(self._drain, grader_id)

    def _drain(self, grader_id: UUID) -> None:
        self._in_line.discard(grader_id)
        try:
            drains.drain(grader_id)
        except Exception as exc:  # noqa: BLE001 - no code waits for this future
            _report(exc, f"drain of {grader_id}")


def _report(exc: Exception, action: str) -> None:
    if connections.is_away(exc):
        outages.warning("%s: the database is away: %s", action, exc)
    else:
        logger.error("%s failed", action, exc_info=exc)
