"""Celery tasks for graders."""

from celery import shared_task

from autotune.core.clock import database_now
from graders import cleaning, credentials
from graders.health import reports
from graders.statistics import folding


@shared_task(name="graders.fold_statistics", ignore_result=True)
def fold_statistics() -> None:
    """Fold the counters, and delete the secrets whose grace period has ended."""
    folding.fold()
    credentials.drop_expired()


@shared_task(name="graders.check_health", ignore_result=True)
def check_health() -> None:
    """Check the health of every grader in service that is due."""
    reports.check_due()


@shared_task(name="graders.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete old checks, status changes and guards, and compact old statistics."""
    cleaning.clean(database_now())
