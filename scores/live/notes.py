"""Write the audit events of the calls that the `live` process rejects, in a separate thread."""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.db import connection

from autotune.access.audit import trail
from autotune.access.audit.current_call import AuditedCall

logger = logging.getLogger(__name__)
MAX_WAITING: Final = 1_000
WARN_EVERY_S: Final = 10.0


class RefusalNotes:
    """One thread that writes the events. If too many wait, the next one is lost, and counted as `audit.lost`."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="live-notes")
        self._waiting = 0
        self._warned = float("-inf")

    async def __call__(self, event: AuditedCall, status: int, code: str = "") -> None:
        if self._waiting >= MAX_WAITING:
            self._lose()
            return
        self._waiting += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self.pool, _write, event, status, code)
        finally:
            self._waiting -= 1

    def _lose(self) -> None:
        trail.losses.add()
        now = time.monotonic()
        if now - self._warned >= WARN_EVERY_S:
            self._warned = now
            logger.warning("audit: more calls are refused than can be recorded; %d wait", self._waiting)


def _write(event: AuditedCall, status: int, code: str) -> None:
    try:
        trail.noted(event, status, code)
    finally:
        connection.close()
