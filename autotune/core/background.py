"""Background threads: a loop that repeats a step in a daemon thread and goes on after the step's errors."""

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from django.db import connection

from autotune.core import connections, logs

RETRY_S: Final = 1.0
JOIN_S: Final = 6.0  # how long a process that ends waits for the last pass


class BackgroundLoop:
    """Repeats a step in a named daemon thread, until the process ends or `stop()` is called.

    name     of the thread
    step     runs one pass, and returns the seconds until the next, or None to sleep until `wake()`
    action   what a pass does, for the log: "audit: sealing"
    logger   of the module that the step belongs to
    first_s  seconds from the start to the first pass
    retry_s  seconds to the next pass if one has failed
    around   a context in which the thread runs all passes
    keeps_connection  whether the thread keeps its database connection between two passes; others release it

    A pass that fails is logged, and the next pass follows. Start a loop after the fork: a child has no thread of it.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], float | None],
        *,
        action: str,
        logger: logging.Logger,
        first_s: float = 0.0,
        retry_s: float = RETRY_S,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
        keeps_connection: bool = False,
    ) -> None:
        self._name, self._step, self._action, self._logger = name, step, action, logger
        self._first_s, self._retry_s, self._around = first_s, retry_s, around
        self._keeps_connection = keeps_connection
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._due = threading.Event()
        self.stopping = threading.Event()

    @property
    def is_running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, unless it is alive."""
        with self._lock:
            if not self.is_running:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Run a pass now, or right after the present one. Starts the thread if it is not alive."""
        self._due.set()
        self.start()

    def stop(self) -> None:
        """End the thread after the present pass. A step may call this as well."""
        self.stopping.set()
        self._due.set()

    def join(self) -> None:
        """Wait for the end of the thread, at most JOIN_S."""
        if self._thread is not None:
            self._thread.join(JOIN_S)

    def _run(self) -> None:
        with self._around():
            wait_s: float | None = self._first_s
            while not self._is_stopped_within(wait_s):
                wait_s = self._pass()

    def _is_stopped_within(self, wait_s: float | None) -> bool:
        """Wait until the next pass is due. Return whether the loop must end instead."""
        self._due.wait(wait_s)
        if self.stopping.is_set():
            return True
        self._due.clear()
        return False

    def _pass(self) -> float | None:
        wait_s: float | None = self._retry_s
        keeps = False
        try:
            with survived(self._action, self._logger):
                wait_s = self._step()
                keeps = self._keeps_connection and wait_s is not None
        finally:
            if not keeps:
                connection.close()
        return wait_s


@contextmanager
def survived(action: str, logger: logging.Logger) -> Iterator[None]:
    """Log an error of the block, and continue after the block. For work that no caller waits for.

    While the database is away, one line in REPEATED_S seconds says so. Any other error is logged with its traceback,
    each kind of error once in REPEATED_S seconds.
    """
    try:
        yield
    except Exception as exc:  # noqa: BLE001 - no caller waits for this work, so its errors end here
        repeating = logs.repeating(logger.name)
        if connections.is_away(exc):
            repeating.warning("%s: the database is away: %s", action, exc)
        else:
            repeating.error("%s failed", action, exc_info=exc, extra={"kind": (action, *_kind(exc))})


def _kind(exc: Exception) -> tuple[str, str, int]:
    """Return what errors of one kind share: the class, and the file and line that raised it."""
    frame = traceback.extract_tb(exc.__traceback__)[-1]
    return type(exc).__name__, frame.filename, frame.lineno or 0
