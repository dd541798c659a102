"""The app's Celery tasks, and the sealing thread of each worker."""

from typing import Any

from celery import shared_task
from celery.signals import worker_init, worker_shutdown, worker_shutting_down

from autotune.access import idempotency
from autotune.access.accounts.sessions import SessionStore
from autotune.access.audit import sealing
from autotune.access.audit.sealing_thread import SealingThread
from autotune.access.members import invitations
from autotune.access.throttling import rates
from autotune.core.clock import database_now

_sealers: list[SealingThread] = []


@shared_task(name="access.seal_audit", ignore_result=True)
def seal_audit() -> None:
    """Seal the audit log from beat, in case no worker's sealing thread is alive."""
    sealing.seal()


@shared_task(name="access.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete expired answers, throttle rows, invitations and sessions; runs daily."""
    now = database_now()
    idempotency.clean(now)
    rates.clean(now)
    invitations.clean()
    SessionStore.clear_expired()


@worker_init.connect  # and not worker_ready, which waits for the broker: a worker may be started while that is away
def _start_sealer(**_: Any) -> None:
    sealer = SealingThread()
    sealer.start()
    _sealers.append(sealer)


@worker_shutting_down.connect
def _stop_sealer(**_: Any) -> None:
    for sealer in _sealers:
        sealer.stop()


@worker_shutdown.connect
def _join_sealer(**_: Any) -> None:
    while _sealers:
        sealer = _sealers.pop()
        sealer.stop()
        sealer.join()
