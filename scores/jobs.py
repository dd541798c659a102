"""The Celery tasks of scoring. Each only calls a function, and is safe if its message is lost or delivered twice."""

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_init, worker_shutting_down

from autotune.core.brokers import queue
from autotune.core.clock import database_now
from scores.callbacks import cleaning
from scores.counters import building, folding
from scores.engine import drains, wakeups
from scores.engine import sweep as sweeping
from scores.engine.sweeper import Sweeper
from scores.retention import erasures, expiry

_sweepers: list[Sweeper] = []


@shared_task(name=wakeups.JOB, ignore_result=True)
def score_pending(grader_id: str) -> None:
    """Score the due runs of a grader; a wake-up starts this."""
    drains.drain(UUID(grader_id))


@shared_task(name="scores.sweep", ignore_result=True)
def sweep() -> None:
    """Run the sweep from beat, in case no worker's own sweeper is running: leases, sleeping runs and due runs."""
    for grader_id in sweeping.sweep(passes=1):
        drains.drain(grader_id)


@shared_task(name="scores.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete rows that are no longer needed."""
    cleaning.clean(database_now())


@shared_task(name="scores.fold_counters", ignore_result=True)
def fold_counters() -> None:
    """Fold the tallies of scores into counters, and build the counters of tasks that have none yet."""
    folding.fold()
    building.build_waiting()


@shared_task(name=erasures.JOB, ignore_result=True)
def erase() -> None:
    """Process the open erasures; beat starts this regularly too."""
    if erasures.work():
        queue.send(erasures.JOB)


@shared_task(name=expiry.JOB, ignore_result=True)
def retain() -> None:
    """Erase text and delete rows whose retention period is over."""
    if expiry.work(database_now()):
        queue.send(expiry.JOB)


@worker_init.connect  # not worker_ready, which waits for the broker: a worker may start without it
def _start_sweeper(**_: Any) -> None:
    sweeper = Sweeper()
    sweeper.start()
    _sweepers.append(sweeper)


@worker_shutting_down.connect
def _end(**_: Any) -> None:
    drains.close()
    while _sweepers:
        _sweepers.pop().stop()
