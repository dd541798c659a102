"""Celery's entry points of tasks. Each is one line; a lost or doubled message does no harm."""

from celery import shared_task

from tasks import filling


@shared_task(name="tasks.fill_digests", ignore_result=True)
def fill_digests() -> None:
    """Give older completions their digests; every minute, and mostly there is nothing to do."""
    filling.work()
