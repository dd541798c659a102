"""Celery's way into this app."""

from celery import shared_task

from graders import credentials, folding


@shared_task(name="graders.fold_statistics", ignore_result=True)
def fold_statistics() -> None:
    """Fold the counters, and drop the secrets whose grace period is over."""
    folding.fold()
    credentials.drop_expired()
