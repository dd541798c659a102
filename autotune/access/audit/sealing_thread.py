"""The sealing thread of a worker process, which seals audit events every second. It is safe to run several."""

import logging
import threading
import time
from datetime import UTC, datetime
from typing import Final

from django.db import connection

from autotune.access.audit import sealing
from autotune.core import connections, logs

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
EVERY_S: Final = 1.0
WARN_EVERY_S: Final = 10.0


class Sealer:
    """The sealing thread. Start it once in a process; `stop()` ends it after the current pass."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._warned = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="audit-sealer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        self._thread.join(EVERY_S + 5.0)

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                sealing.seal()
                if time.monotonic() - self._warned > WARN_EVERY_S:
                    self._warned = time.monotonic()
                    sealing.warn_of_late(datetime.now(UTC))
            except Exception as exc:  # the next pass must come whatever happened in this one
                if connections.is_away(exc):
                    outages.warning("audit: the database is away: %s", exc)
                else:
                    logger.exception("sealing the audit log failed")
            finally:
                connection.close()
