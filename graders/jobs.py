"""Celery's way into this app."""

from celery import shared_task

from autotune.core.clock import database_now
from graders import cleaning, credentials
from graders.health import reports
from graders.statistics import folding


@shared_task(name="graders.fold_statistics", ignore_result=True)
def fold_statistics() -> None:
    """Fold the counters, and drop the secrets whose grace period is over."""
    folding.fold()
    credentials.drop_expired()


@shared_task(name="graders.check_health", ignore_result=True)
def check_health() -> None:
    """Ask the graders in service how they are."""
    reports.check_due()


@shared_task(name="graders.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete what nobody reads any more."""
    cleaning.clean(database_now())
