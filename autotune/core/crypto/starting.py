"""Refuses to start a process whose master keys are not those of its database.

If the database is away, the process starts, and checks the keys as soon as the database answers, so that nobody has to
start it twice.
"""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.db import connection

from autotune.core.crypto import keychecks

logger = logging.getLogger(__name__)
EXIT_STATUS: Final = 3  # gunicorn ends as a whole if one of its workers exits with this
LOOK_EVERY_S: Final = 2.0


def require_master_keys(process: str) -> None:
    """End the process with EXIT_STATUS if a master key is missing or wrong.

    process  its name, for the log
    """
    if _is_answered(process, sys.exit):
        return
    logger.warning("%s starts without its database; the master keys are checked when it answers", process)
    threading.Thread(target=_check_later, args=(process,), name="master-keys", daemon=True).start()


def _check_later(process: str) -> None:
    pause = threading.Event()
    while not _is_answered(process, os._exit):
        pause.wait(LOOK_EVERY_S)


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
    except Exception as exc:  # noqa: BLE001 - away, not migrated yet, or the pool's time-out, which is no DatabaseError
        logger.debug("the master keys cannot be checked yet: %s", exc)
        return None
    finally:
        connection.close()
