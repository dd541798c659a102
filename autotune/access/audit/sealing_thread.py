"""The sealing thread of a worker process, which seals audit events every second. It is safe to run several."""

import logging
import time
from datetime import UTC, datetime
from typing import Final

from autotune.access.audit import sealing
from autotune.core.background import BackgroundLoop

logger = logging.getLogger(__name__)
EVERY_S: Final = 1.0
WARN_EVERY_S: Final = 10.0


class SealingThread(BackgroundLoop):
    """The sealing thread. Start it once in a process; `stop()` ends it after the current pass."""

    def __init__(self) -> None:
        super().__init__(
            "audit-sealer", self._seal, action="audit: sealing", logger=logger, first_s=EVERY_S, retry_s=EVERY_S
        )
        self._warned = time.monotonic()

    def _seal(self) -> float:
        sealing.seal()
        if time.monotonic() - self._warned > WARN_EVERY_S:
            self._warned = time.monotonic()
            sealing.warn_of_late(datetime.now(UTC))
        return EVERY_S
