"""Frozen dataclasses of the API's responses about export jobs, and the result of a download."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

EXPORT_ENDS = frozenset({"completed", "failed", "cancelled", "withdrawn", "expired"})


@dataclass(frozen=True)
class ExportError:
    """The error of a failed job."""

    code: str
    message: str


@dataclass(frozen=True)
class ExportedFile:
    """A file of an export on the server. kind: 'data', 'metadata' or 'manifest'."""

    name: str
    kind: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Export:
    """A job that writes training data to files. In lists it has no `files`.

    status    'pending', 'running', 'completed', 'failed', 'cancelled', 'withdrawn' (a text in it was erased, and its
              files are deleted) or 'expired' (its storage period is over)
    query     the request's filters and options, by the API's names
    progress  0..1
    left_out  number of rows that it lacks: their text was erased, or the layout cannot carry their conversation;
              `left_out_by_reason` adds up to it
    sha256    of the only file, or of the manifest
    metadata  of the dataset, as the API writes it: exportedAt, taskIds, modelIds, totalRecords, leftOut,
              leftOutByReason, systemPromptVersions, scoreDistribution, and features (types of the columns) for JSON
    """

    id: str
    organization_id: str
    status: str
    query: dict[str, Any]
    progress: float
    rows: int
    left_out: int
    left_out_by_reason: dict[str, int]
    bytes: int
    sha256: str | None
    metadata: dict[str, Any] | None
    files: tuple[ExportedFile, ...]
    error: ExportError | None
    created_by: str
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None

    @property
    def final(self) -> bool:
        """Return whether it is final: waiting will not change it."""
        return self.status in EXPORT_ENDS

    @property
    def data_files(self) -> tuple[ExportedFile, ...]:
        """Return the files that contain rows."""
        return tuple(file for file in self.files if file.kind == "data")


@dataclass(frozen=True)
class ExportLink:
    """An address that downloads a file without a key until it expires; left out of repr."""

    url: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True)
class ExportFile:
    """The result of a written export. `path` is None for a file object; `sha256` is that of the bytes written."""

    path: str | None
    bytes: int
    sha256: str
