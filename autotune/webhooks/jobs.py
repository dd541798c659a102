"""Celery tasks of webhooks. Messages may be lost or repeated, since each worker also runs its own pump."""

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown, worker_shutting_down

from autotune.core.clock import database_now
from autotune.webhooks import cleaning
from autotune.webhooks.delivery import pump
from autotune.webhooks.delivery.pump import PumpThread

_threads: list[PumpThread] = []


@shared_task(name="webhooks.deliver", ignore_result=True)
def deliver() -> None:
    """Fan out and deliver what is due."""
    pump.deliver_due()


@shared_task(name="webhooks.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete old events and their deliveries."""
    cleaning.clean(database_now())


@worker_init.connect  # and not worker_ready, which waits for the broker: a worker may be started while that is away
def _start(**_: Any) -> None:
    thread = PumpThread()
    thread.start()
    _threads.append(thread)


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    for thread in _threads:
        thread.stop()


@worker_shutdown.connect
def _join(**_: Any) -> None:
    while _threads:
        thread = _threads.pop()
        thread.stop()
        thread.join()
