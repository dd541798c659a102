"""End an export: completed, failed, cancelled, withdrawn or expired. All but the first delete its files.

The same transaction deletes the key of the files, so nothing can read them from then on; the files themselves are
deleted after the commit, or by `clean_up` if the process died before.
"""

import logging
from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from autotune.access.audit import trail
from autotune.core.clock import database_now
from autotune.core.crypto.fields import refresh
from autotune.core.errors import Conflict
from autotune.webhooks.events import outbox
from autotune.webhooks.events.outbox import EmittedEvent
from autotune.webhooks.states import EventKind
from exports.files import storing
from exports.models import Export, ExportFile
from exports.states import UNFINISHED, ExportStatus
from exports.work import claims

logger = logging.getLogger(__name__)
AT_ONCE: Final = 200
WITHDRAWN: Final = "withdrawn"
WITHDRAWN_MESSAGE: Final = "Text in the export was erased. Create a new export; it will not contain the erased text."
MAX_MESSAGE: Final = Export._meta.get_field("error_message").max_length or 0


def fail(export: Export, code: str, message: str) -> bool:
    """End a claimed export with an error. Returns False if this worker no longer holds it."""
    with transaction.atomic():
        try:
            claims.locked(export)
        except claims.LeaseLost:
            return False
        _end([export.pk], ExportStatus.FAILED, error_code=code, error_message=message[:MAX_MESSAGE])
    return True


def cancel(export_id: UUID) -> Export:
    """Cancel an unfinished export, even while a worker holds it; an already cancelled one stays unchanged.

    raises  Conflict `export_over`
    """
    with transaction.atomic():
        export = Export.objects.select_for_update(no_key=True).get(pk=export_id)
        if export.status in UNFINISHED:
            _end([export_id], ExportStatus.CANCELLED)
        elif export.status != ExportStatus.CANCELLED:
            raise Conflict(f"The export is {export.status} and can no longer be cancelled.", code="export_over")
    refresh(export)
    return export


def withdraw(export_ids: Collection[UUID]) -> int:
    """Withdraw exports that hold erased text, in the erasure's transaction; return how many."""
    with_files = Export.objects.filter(pk__in=export_ids).with_files().order_by("pk")
    exports = list(with_files.select_for_update(no_key=True).select_related("organization").defer("file_key"))
    for export in exports:
        trail.record(
            action="exports.withdraw", resource="exports", organization=export.organization, actor="erasure",
            object_id=export.public_id,
        )  # fmt: skip
    _end(
        [export.pk for export in exports],
        ExportStatus.WITHDRAWN,
        error_code=WITHDRAWN,
        error_message=WITHDRAWN_MESSAGE,
    )
    return len(exports)


def expire(now: datetime) -> int:
    """Expire the exports whose storage period is over; return how many."""
    count = 0
    while True:
        with transaction.atomic():
            expired = Export.objects.filter(status=ExportStatus.COMPLETED, expires_at__lte=now).order_by("expires_at")
            export_ids = list(
                expired.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)[:AT_ONCE]
            )
            _end(export_ids, ExportStatus.EXPIRED)
        count += len(export_ids)
        if len(export_ids) < AT_ONCE:
            return count


def clean_up() -> int:
    """Delete stored files of exports that have none any more or do not exist; return how many."""
    deleted = 0
    for export_id in storing.list_export_ids():
        status = Export.objects.filter(pk=export_id).with_files().values_list("status", flat=True).first()
        if status is None:
            deleted += storing.delete_others(export_id)
        elif status == ExportStatus.COMPLETED:
            deleted += storing.delete_others(export_id, _names(export_id))
    return deleted


def emit_completed(export_ids: Collection[UUID]) -> None:
    """Emit `export.completed` for exports that have ended, in the caller's transaction."""
    rows = Export.objects.filter(pk__in=export_ids).order_by("pk").defer("file_key")
    outbox.emit(
        EventKind.EXPORT_COMPLETED, [EmittedEvent(row.organization_id, row.pk, build_payload(row)) for row in rows]
    )


def build_payload(export: Export) -> dict[str, Any]:
    """Build the data of an `export.completed` event. `status`: completed, failed or withdrawn."""
    return {
        "exportId": export.public_id,
        "status": str(export.status),
        "rows": export.rows,
        "sha256": export.sha256 or None,
    }


def _end(export_ids: Collection[UUID], status: ExportStatus, **changes: Any) -> None:
    """End exports in the caller's transaction, which has locked their rows."""
    if not export_ids:
        return
    completed_at = Coalesce(
        F("completed_at"), Value(database_now())
    )  # an export that had files keeps the time when they were complete
    Export.objects.filter(pk__in=export_ids).update(
        status=status, file_key=None, leased_until=None, completed_at=completed_at, **changes
    )
    ExportFile.objects.filter(export__in=export_ids).delete()
    if status in (ExportStatus.FAILED, ExportStatus.WITHDRAWN):
        emit_completed(export_ids)
    for export_id in export_ids:
        transaction.on_commit(partial(storing.delete_others, export_id), robust=True)


def _names(export_id: UUID) -> list[str]:
    return list(ExportFile.objects.filter(export=export_id).values_list("stored_as", flat=True))
