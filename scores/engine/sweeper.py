"""The sweeper of a worker process: a thread that sweeps every second and drains graders whose due runs have no worker.

The sweepers of all processes share the sweeps: a sweeper skips its pass if another one swept within its interval. The
intervals vary, so that each process sweeps from time to time.

It runs drains itself and does not only send messages, so scoring continues while the broker is unavailable.
"""

import logging
import random
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from autotune.core.background import BackgroundLoop, survived
from scores.engine import drains, pulses
from scores.engine.sweep import sweep

logger = logging.getLogger(__name__)
EVERY_S = 1.0
VARIATION = 0.2  # of the interval, up and down
RECENT = 0.7  # part of the interval; a younger sweep of another process is enough
DRAINERS = 16  # threads for the drains of a sweep: graders that hang must not occupy all of them


class Sweeper:
    """The sweeping thread. Start it once in a process; `stop()` ends it after the current pass."""

    def __init__(self) -> None:
        self._loop = BackgroundLoop(
            "sweeper", self._sweep, action="sweep", logger=logger, first_s=_interval_s(), retry_s=_interval_s()
        )
        self._passes = 0
        self._in_line: set[UUID] = set()
        self._pool = ThreadPoolExecutor(DRAINERS, thread_name_prefix="sweeper-drain")

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _sweep(self) -> float:
        if not pulses.is_recent(pulses.SWEEP, EVERY_S * RECENT):
            self._passes += 1
            for grader_id in sweep(passes=self._passes - 1):
                self._start_drain(grader_id)
        return _interval_s()

    def _start_drain(self, grader_id: UUID) -> None:
        """Drain a grader on one of our threads. If this process drains it already, that drain checks for work again."""
        if grader_id in self._in_line or drains.ask(grader_id):
            return
        self._in_line.add(grader_id)
        self._pool.submit(self._drain, grader_id)

    def _drain(self, grader_id: UUID) -> None:
        self._in_line.discard(grader_id)
        with survived(f"drain of {grader_id}", logger):
            drains.drain(grader_id)


def _interval_s() -> float:
    return EVERY_S * random.uniform(1 - VARIATION, 1 + VARIATION)  # noqa: S311 - no secret
