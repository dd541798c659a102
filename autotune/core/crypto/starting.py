"""Refuses to start a process whose master keys are not those of its database.

If the database is away, the process starts, and checks the keys as soon as the database answers, so that nobody has to
start it twice.
"""

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.db import connection

from autotune.core import connections
from autotune.core.background import BackgroundLoop
from autotune.core.crypto import keychecks

logger = logging.getLogger(__name__)
EXIT_STATUS: Final = 3  # gunicorn ends as a whole if one of its workers exits with this
CHECK_EVERY_S: Final = 2.0


def require_master_keys(process: str) -> None:
    """End the process with EXIT_STATUS if a master key is missing or wrong.

    process  its name, for the log
    """
    if _is_answered(process, sys.exit):
        return
    logger.warning("%s starts without its database; the master keys are checked when it answers", process)
    _LaterCheck(process).start()


class _LaterCheck(BackgroundLoop):
    """Checks the keys until the database has answered."""

    def __init__(self, process: str) -> None:
        super().__init__("master-keys", self._check, action="the check of the master keys", logger=logger)
        self._process = process

    def _check(self) -> float:
        if _is_answered(self._process, os._exit):
            self.stop()
        return CHECK_EVERY_S


def _is_answered(process: str, end: Callable[[int], object]) -> bool:
    """Whether the database answered. A missing or wrong key ends the process."""
    with ThreadPoolExecutor(1, thread_name_prefix="master-keys") as executor:  # the caller may be in an event loop
        refusal = executor.submit(_refusal).result()
    if refusal:
        logger.critical("%s does not start: %s", process, refusal)
        logging.shutdown()
        if (supervisor := multiprocessing.parent_process()) and supervisor.pid:  # uvicorn's, which would restart it
            os.kill(supervisor.pid, signal.SIGTERM)
        end(EXIT_STATUS)
    return refusal is not None


def _refusal() -> str | None:
    """Return why the master keys are refused, or ''; None if the database does not answer."""
    try:
        return keychecks.refusal()
    except connections.ERRORS as exc:  # it is away, or not migrated yet
        logger.debug("the master keys cannot be checked yet: %s", exc)
        return None
    finally:
        connection.close()
