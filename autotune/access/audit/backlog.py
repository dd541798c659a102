"""Events that could not be written because the database was away: kept in memory, and written when it is back.

They are of calls that changed nothing: what changes something is not done without its event. A process that is killed
takes its backlog with it; one that ends in order writes it, or reports how many events it loses.
"""

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from django.db import IntegrityError, connection

from autotune.core import connections, logs

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
MOST_KEPT: Final = 10_000  # events of one process, about 20 MiB
EVERY_S: Final = 1.0


class Backlog:
    """Writes of one process, the oldest first. A thread lives while there are any.

    lost  called for each event that can never be written
    """

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._lock = threading.Lock()
        self._kept: deque[Callable[[], None]] = deque()
        self._is_watched = False

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, write: Callable[[], None], why: BaseException) -> bool:
        """Repeat `write` until it succeeds; False where too many are kept already."""
        outages.error("audit: events are kept in memory until they can be written: %s", why)
        with self._lock:
            if len(self._kept) >= MOST_KEPT:
                return False
            self._kept.append(write)
            if not self._is_watched:
                self._is_watched = True
                self._watch()
        return True

    def write(self) -> bool:
        """Write what is kept; whether nothing is left. Not for two threads at once."""
        count = 0
        try:
            while self._kept:
                try:
                    self._kept[0]()
                    count += 1
                except IntegrityError:  # it was written, and the connection lost before we heard of it
                    count += 1
                except Exception as exc:  # one event must not keep the others from being written
                    if connections.is_away(exc):
                        return False
                    self._lost()
                    logger.exception("audit: a kept event could not be written")
                self._kept.popleft()
            return True
        finally:
            connection.close()
            if count:
                logger.warning("audit: %d kept events are written", count)

    def close(self) -> None:
        """The process ends."""
        if self._kept and not self.write():
            logger.error("audit: %d events are lost: the process ends while the database is away", len(self._kept))

    def _watch(self) -> None:
        threading.Thread(target=self._run, name="audit-backlog", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(EVERY_S)
            self.write()
            with self._lock:
                if not self._kept:
                    self._is_watched = False
                    return


def at_exit(backlog: Backlog) -> Backlog:
    """The same backlog, closed when the process ends in order."""
    atexit.register(backlog.close)
    return backlog
