"""Send mail outside the request, so that neither an error nor its duration reveals whether a mail was sent."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)
THREADS = 2

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def send_soon(message: EmailMessage) -> "Future[bool]":
    """Send a message as `send` does, on another thread."""
    global _pool
    with _lock:
        if _pool is None:  # after the fork, at the first mail
            _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mail")
    return _pool.submit(send, message)


def send(message: EmailMessage) -> bool:
    """Send a message; return False, and log the failure without the address or the text, if it cannot be sent."""
    try:
        message.send()
    except Exception as exc:  # noqa: BLE001 - each mail backend raises its own errors, and no caller can correct them
        logger.error("A mail could not be sent: %s", type(exc).__name__)
        return False
    return True
