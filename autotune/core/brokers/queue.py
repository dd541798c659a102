"""Hints to the workers. Losing one loses nothing: the database is the queue, and the sweep finds what is due."""

import logging

from celery import current_app

logger = logging.getLogger(__name__)


def send(job: str, *args: object) -> bool:
    """Publish one message; False, and a line in the log, when the broker is away."""
    try:
        current_app.send_task(job, args=args, retry=False)
    except Exception as exc:  # noqa: BLE001 - whatever the broker's client raises, a hint must not fail the caller
        logger.warning("wake-up %s not sent: %s", job, exc)
        return False
    return True
