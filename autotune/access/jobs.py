"""Celery's way into this app."""

from celery import shared_task

from autotune.access import idempotency
from autotune.core.clock import database_now


@shared_task(name="access.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete what is kept no longer; daily."""
    idempotency.clean(database_now())
