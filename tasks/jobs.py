"""The Celery task of this app. It only calls a function, and is safe if its message is lost or delivered twice."""

from celery import shared_task

from tasks import filling


@shared_task(name="tasks.fill_digests", ignore_result=True)
def fill_digests() -> None:
    """Add digests and forms to older completions; runs every minute, and usually finds nothing to do."""
    filling.work()
