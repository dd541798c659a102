"""Keep audit events in memory while the database is unavailable, and write them when it is back.

Only calls that change nothing leave such events: Autotune makes no change without its event. A process that is killed
loses its backlog; a process that exits normally writes it, or reports how many events are lost.
"""

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from django.db import IntegrityError, connection

from autotune.core import connections, logs
from autotune.core.background import BackgroundLoop

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
MOST_KEPT: Final = 10_000  # events of one process, about 20 MiB
EVERY_S: Final = 1.0


class AuditBacklog:
    """Pending writes of one process, the oldest first. The first that is kept starts the thread that writes them.

    lost  called once for each event that can never be written
    """

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # the thread of the backlog and the end of the process may both write
        self._pending: deque[Callable[[], None]] = deque()
        self._loop = BackgroundLoop("audit-backlog", self._pass, action="audit: writing the backlog", logger=logger)

    def __len__(self) -> int:
        return len(self._pending)

    def keep(self, write: Callable[[], None], cause: BaseException) -> bool:
        """Retry `write` until it succeeds; return False if the backlog is full."""
        outages.error("audit: events are kept in memory until they can be written: %s", cause)
        with self._lock:
            if len(self._pending) >= MOST_KEPT:
                return False
            self._pending.append(write)
            is_first = len(self._pending) == 1
        if is_first:
            self._loop.wake()
        return True

    def write(self) -> bool:
        """Write the pending events, and return whether none is left."""
        with self._writing:
            count = 0
            try:
                while self._pending:
                    if not self._write_next():
                        return False
                    count += 1
                return True
            finally:
                connection.close()
                if count:
                    logger.warning("audit: %d kept events are written", count)

    def _write_next(self) -> bool:
        """Write the oldest event and drop it; return False if the database is away, so that it stays."""
        try:
            self._pending[0]()
        except IntegrityError:
            pass  # an earlier attempt wrote it, but the connection broke before the reply
        except Exception as exc:  # one event must not block the others
            if connections.is_away(exc):
                return False
            logger.exception("audit: a kept event could not be written")
            self._pending.popleft()
            self._lost()
            return True
        self._pending.popleft()
        return True

    def close(self) -> None:
        """Write what is pending as the process ends, or log how many events are lost."""
        if self._pending and not self.write():
            logger.error("audit: %d events are lost: the process ends while the database is away", len(self._pending))

    def _pass(self) -> float | None:
        self.write()
        return EVERY_S if self._pending else None


def at_exit(backlog: AuditBacklog) -> AuditBacklog:
    """Close the backlog when the process exits normally, and return it."""
    atexit.register(backlog.close)
    return backlog
