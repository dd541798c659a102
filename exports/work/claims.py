"""Claim exports with a numbered lease, which a separate thread renews while a part is written."""

import logging
import threading
from datetime import timedelta
from typing import Any, Final, Self
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Q

from autotune.core.clock import database_now
from exports.files import storing
from exports.files.storing import StorageAway
from exports.models import Export
from exports.states import ExportStatus

logger = logging.getLogger(__name__)
LEASE: Final = timedelta(seconds=30)
RENEW_S: Final = 5.0


class LeaseLost(Exception):
    """This worker no longer holds the export: it was cancelled, withdrawn, or taken over when the lease expired."""


class WorkerStopping(Exception):
    """This process must stop."""


def take() -> Export | None:
    """Claim the oldest export that is due for this worker; None if none is due.

    An organization runs at most EXPORTS_RUNNING at a time, so that no other organization waits for all of them.
    Only the machine whose folder an export started in may continue it.
    """
    storage_id, storage_host = _place()
    with transaction.atomic():
        now = database_now()
        pending = Q(status=ExportStatus.PENDING) & (Q(leased_until=None) | Q(leased_until__lte=now))
        abandoned = Q(status=ExportStatus.RUNNING, leased_until__lt=now)
        running = Export.objects.order_by().filter(status=ExportStatus.RUNNING, leased_until__gte=now)
        counts = running.values("organization_id").annotate(count=Count("pk"))
        busy = [row["organization_id"] for row in counts if row["count"] >= settings.EXPORTS_RUNNING]
        reachable = Q(storage_id=None) | Q(storage_id=storage_id)  # this machine can read its parts
        due = Export.objects.filter(reachable, pending | abandoned).exclude(organization_id__in=busy).order_by("pk")
        export = due.select_for_update(skip_locked=True, no_key=True).first()
        if export is None:
            return None
        if export.status == ExportStatus.RUNNING:
            export.failures += 1  # its worker died; one that kills every worker must end
        export.status = ExportStatus.RUNNING
        export.attempt += 1
        export.leased_until = now + LEASE
        export.started_at = export.started_at or now
        if storage_id is not None:
            export.storage_id, export.storage_host = storage_id, storage_host
        export.error_code = export.error_message = ""  # the reason for its last wait
        export.save(
            update_fields=[
                "status", "attempt", "failures", "leased_until", "started_at", "storage_id", "storage_host",
                "error_code", "error_message",
            ]
        )  # fmt: skip
    return export


def _place() -> tuple[UUID | None, str]:
    """This machine's folder and host; (None, '') if its folder cannot be used: storing the first part then fails."""
    try:
        return storing.place()
    except StorageAway:
        return None, ""


def locked(export: Export) -> Export:
    """Lock and return the current row of the export, in the caller's transaction.

    raises  LeaseLost if this worker no longer holds it
    """
    claimed_export = Export.objects.filter(pk=export.pk, status=ExportStatus.RUNNING, attempt=export.attempt)
    row = claimed_export.select_for_update(no_key=True).defer("file_key").first()
    if row is None:
        raise LeaseLost
    return row


def give_back(export: Export, after: timedelta | None = None, **changes: Any) -> None:
    """Let any worker take the export, at once or `after` a delay. Its parts stay."""
    claimed_export = Export.objects.filter(pk=export.pk, status=ExportStatus.RUNNING, attempt=export.attempt)
    claimed_export.update(
        status=ExportStatus.PENDING, leased_until=database_now() + after if after else None, **changes
    )


class ExportLease:
    """Keeps a claim while the block runs. Call `check()` often: it is cheap."""

    def __init__(self, export: Export, stopping: threading.Event) -> None:
        self._export, self._stopping = export, stopping
        self._ending = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{export.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def check(self) -> None:
        """Check that the work may continue; raises LeaseLost or WorkerStopping."""
        if self._lost.is_set():
            raise LeaseLost
        if self._stopping.is_set():
            raise WorkerStopping

    def _keep(self) -> None:
        while not self._ending.wait(RENEW_S):
            try:
                if not renew(self._export):
                    self._lost.set()
                    return
            except DatabaseError as exc:  # retried; if the lease expires first, the next commit fails
                logger.warning("exports: the lease of %s could not be renewed: %s", self._export.public_id, exc)
            finally:
                connection.close()


def renew(export: Export) -> bool:
    """Extend the lease by LEASE from now; return whether this worker still holds it."""
    claimed_export = Export.objects.filter(pk=export.pk, status=ExportStatus.RUNNING, attempt=export.attempt)
    return claimed_export.update(leased_until=database_now() + LEASE) == 1
