"""Sends hints to the workers. A lost hint loses no work: the database is the queue, and the sweep finds due work."""

import logging

from celery import current_app

logger = logging.getLogger(__name__)


def send(job: str, *args: object) -> bool:
    """Publish one message; return False, and log a line, if the broker is unavailable."""
    try:
        current_app.send_task(job, args=args, retry=False)
    except Exception as exc:  # noqa: BLE001 - whatever the broker's client raises, a hint must not fail the caller
        logger.warning("wake-up %s not sent: %s", job, exc)
        return False
    return True
