"""Responses of the export job API."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from exports.models import Export, ExportFile
from exports.reading import left_out
from exports.states import ExportStatus, FileKind


class ExportFileOut(ApiStruct):
    """`kind`: `data`, `metadata` (of the data set) or `manifest` (of several data files, in their order)."""

    name: str
    kind: FileKind
    rows: int
    bytes: int
    sha256: str


class ExportErrorOut(ApiStruct):
    code: str
    message: str


class ExportOut(ApiStruct):
    """`progress`: 0 to 1. `rows`, `leftOut` and `bytes`: of the finished parts; `leftOutByReason` adds up to `leftOut`.
    `sha256`: of the only data file, or of the manifest. `files`: null until the export is completed, after its files
    are deleted, and in lists."""

    id: str
    organization_id: str
    status: ExportStatus
    query: dict[str, Any]
    progress: float
    rows: int
    left_out: int
    left_out_by_reason: dict[str, int]
    bytes: int
    sha256: str | None
    metadata: dict[str, Any] | None
    files: list[ExportFileOut] | None
    error: ExportErrorOut | None
    created_by: str
    created_at: str
    started_at: str | None
    completed_at: str | None
    expires_at: str | None


class ExportAnswer(ApiStruct):
    export: ExportOut


class ExportPage(ApiStruct):
    exports: list[ExportOut]
    pagination: Pagination


class LinkOut(ApiStruct):
    """`url` works without a key until `expiresAt`: anyone who has it can download. Null in a repeated response."""

    url: str | None
    expires_at: str


def with_files(export: Export) -> ExportAnswer:
    """Return the export with the list of its files; makes one query."""
    files = ExportFile.objects.filter(export=export).order_by("kind", "number").defer("values", "facts")
    return ExportAnswer(export_out(export, list(files) if export.status == ExportStatus.COMPLETED else None))


def export_out(export: Export, files: Sequence[ExportFile] | None = None) -> ExportOut:
    """Return the export without its files; makes no query."""
    return ExportOut(
        id=export.public_id,
        organization_id=ids.encode("org", export.organization_id),
        status=ExportStatus(export.status),
        query=export.query,
        progress=progress(export),
        rows=export.rows,
        left_out=export.left_out,
        left_out_by_reason=left_out.by_reason(export.left_out, export.left_out_by_reason),
        bytes=export.bytes,
        sha256=export.sha256 or None,
        metadata=export.metadata,
        files=None if files is None else [_file(file) for file in files],
        error=ExportErrorOut(export.error_code, export.error_message) if export.error_code else None,
        created_by=ids.encode("user", export.created_by_id),
        created_at=clock.wire(export.created_at),
        started_at=_wire(export.started_at),
        completed_at=_wire(export.completed_at),
        expires_at=_wire(export.expires_at),
    )


def progress(export: Export) -> float:
    """Return the share of the expected rows that is written; 1 only for a completed export."""
    if export.status in (ExportStatus.COMPLETED, ExportStatus.EXPIRED):
        return 1.0
    done = export.rows + export.left_out
    return round(min(done / export.expected, 0.99), 4) if export.expected else 0.0


def _file(file: ExportFile) -> ExportFileOut:
    return ExportFileOut(file.name, FileKind(file.kind), file.rows, file.bytes, file.sha256)


def _wire(moment: datetime | None) -> str | None:
    return None if moment is None else clock.wire(moment)
