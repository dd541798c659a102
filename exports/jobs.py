"""Celery tasks of exports. Losing or repeating a message is safe, since beat regularly starts what is due."""

from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down

from autotune.core.clock import database_now
from exports.work import asking, ending, running


@shared_task(name=asking.JOB, ignore_result=True)
def run() -> None:
    """Run the exports that are due."""
    running.work()


@shared_task(name="exports.expire", ignore_result=True)
def expire() -> None:
    """Delete the files of exports whose storage period is over."""
    ending.expire(database_now())


@shared_task(name="exports.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete stored files that belong to no export."""
    ending.clean_up()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    running.stop()
