"""Send mail outside the request, so that neither an error nor its duration reveals whether a mail was sent."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)
THREADS = 2

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def send_soon(message: EmailMessage) -> "Future[None]":
    """Send a message on another thread; a failure is logged without the address or the text."""
    global _pool
    with _lock:
        if _pool is None:  # after the fork, at the first mail
            _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mail")
    return _pool.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception as exc:  # noqa: BLE001 - nobody waits for this thread, so every failure must be logged here
        logger.error("A mail could not be sent: %s", type(exc).__name__)
