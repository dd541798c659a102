"""Complete an export whose parts are all written: store its metadata, a manifest of several parts, and its checksum."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction

from autotune.core import clock, ids
from autotune.core.clock import database_now
from exports.files import storing
from exports.files.storing import StoredFile
from exports.formats import features
from exports.models import Export, ExportFile
from exports.requests import ExportQuery
from exports.states import ExportStatus, FileKind
from exports.structure import Columns
from exports.work import claims, ending, parts

METADATA_NAME = "metadata.json"
MANIFEST_NAME = "manifest.json"


def finish(export: Export, key: bytes, query: ExportQuery, columns: Columns) -> None:
    """Write the files that describe the parts, then complete the export.

    columns  of the rows
    raises  LeaseLost, StorageAway
    """
    files = list(parts.data_files(export))
    state = Export.objects.filter(pk=export.pk).values("left_out", "left_out_by_reason").get()
    assert export.started_at is not None
    facts = parts.facts_of(files, export.started_at, state["left_out"], state["left_out_by_reason"])
    metadata = facts.as_json() | features.of(query, columns, export.dimensions or ())
    sidecars = [_row(export, FileKind.METADATA, METADATA_NAME, _store(export, key, metadata))]
    sha256 = files[0].sha256
    if len(files) > 1:
        manifest = _store(export, key, manifest_of(export, query, files, metadata))
        sidecars.append(_row(export, FileKind.MANIFEST, MANIFEST_NAME, manifest))
        sha256 = manifest.sha256
    now = database_now()
    with transaction.atomic():
        claims.locked(export)
        ExportFile.objects.filter(export=export).update(values=None)
        if len(files) == 1:
            ExportFile.objects.filter(pk=files[0].pk).update(name=base_name(query, files[0].name))
        ExportFile.objects.bulk_create(sidecars)
        Export.objects.filter(pk=export.pk).update(
            status=ExportStatus.COMPLETED,
            leased_until=None,
            sha256=sha256,
            metadata=metadata,
            completed_at=now,
            expires_at=now + timedelta(days=settings.EXPORT_DAYS),
        )
        ending.emit_completed([export.pk])
    storing.delete_others(export.pk, [file.stored_as for file in (*files, *sidecars)])


def manifest_of(
    export: Export, query: ExportQuery, files: list[ExportFile], metadata: dict[str, Any]
) -> dict[str, Any]:
    """Return the manifest: the parts in the order in which to read them."""
    return {
        "exportId": export.public_id,
        "format": query.format,
        "layout": query.layout,
        "compression": query.compression,
        "rows": sum(file.rows for file in files),
        "bytes": sum(file.bytes for file in files),
        "createdAt": clock.wire(export.created_at),
        "metadata": metadata,
        "features": metadata.get("features"),
        "files": [{"name": file.name, "rows": file.rows, "bytes": file.bytes, "sha256": file.sha256} for file in files],
    }


def base_name(query: ExportQuery, part_name: str) -> str:
    """Return the download name of a sole part: `records.jsonl.gz` for `part-00000.jsonl.gz`."""
    return f"{query.layout}.{part_name.partition('.')[2]}"


def _store(export: Export, key: bytes, content: dict[str, Any]) -> StoredFile:
    content_bytes = msgspec.json.format(msgspec.json.encode(content), indent=2)
    return storing.store(export.pk, ids.new(), key, [content_bytes])


def _row(export: Export, kind: FileKind, name: str, stored: StoredFile) -> ExportFile:
    file_id: UUID = stored.id
    return ExportFile(
        id=file_id, export=export, kind=kind, number=0, name=name, stored_as=stored.name, bytes=stored.bytes,
        sha256=stored.sha256,
    )  # fmt: skip
