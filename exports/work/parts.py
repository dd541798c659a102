"""Write the parts of an export: each is one encrypted file, valid once its row is stored and the cursor has moved."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from autotune.core import ids
from autotune.core.clock import database_now
from exports import formats
from exports.files import storing
from exports.files.storing import StoredFile
from exports.metadata import ExportFacts
from exports.models import Export, ExportFile
from exports.requests import ExportQuery
from exports.states import FileKind
from exports.structure import Columns, RowBatch
from exports.work import claims, withdrawing
from exports.work.claims import ExportLease

WHOLE: Final = "json"  # the format that is one object, and so must be one part


class PartMark(NamedTuple):
    """The state before rows were read: the time, how many erasures had affected the export, and up
    to which completion some had been deleted entirely."""

    at: datetime
    erasure_count: int
    purged_to: UUID | None


def mark(export: Export) -> PartMark:
    return PartMark(database_now(), export.erasure_count, export.purged_to)


@dataclass(slots=True)
class ExportPart:
    """A part that is being written.

    since        the state before its first row was read
    size         bytes of the file so far
    first, last  the least and the greatest completion id in it
    cursor       where the next part begins
    """

    number: int
    since: PartMark
    facts: ExportFacts = field(default_factory=ExportFacts)
    size: int = 0
    first: UUID | None = None
    last: UUID | None = None
    cursor: str = ""
    extension: str = ""
    stored: StoredFile | None = None

    @property
    def has_file(self) -> bool:
        """Whether the part needs a file: the first part does even without rows, a later one only with rows."""
        return self.number == 0 or self.facts.rows > 0


class PartCutter:
    """Splits batches into parts: each part takes batches until it is full, and the next part continues after it."""

    def __init__(self, batches: Iterator[RowBatch], lease: ExportLease) -> None:
        self._batches, self._lease = batches, lease
        self._next: RowBatch | None = next(batches, None)

    @property
    def is_done(self) -> bool:
        return self._next is None

    def take(self, part: ExportPart, *, whole: bool) -> Iterator[RowBatch]:
        """Yield the batches of one part, at least one if there is any.

        raises  LeaseLost or WorkerStopping
        """
        while self._next is not None:
            self._lease.check()
            batch, self._next = self._next, next(self._batches, None)
            if batch.first is not None and batch.last is not None:
                part.first = min(part.first or batch.first, batch.first)
                part.last = max(part.last or batch.last, batch.last)
            part.cursor = batch.cursor
            yield batch
            if not whole and (part.facts.rows >= settings.EXPORT_PART_ROWS or part.size >= settings.EXPORT_PART_BYTES):
                return


def make(
    export: Export, key: bytes, query: ExportQuery, columns: Columns, cutter: PartCutter, part: ExportPart
) -> ExportPart:
    """Write the next part's file; no export includes it until `commit`.

    raises  LeaseLost, WorkerStopping, StorageAway, and what reading raises
    """
    assert export.started_at is not None
    part.facts.exported_at, part.cursor = export.started_at, export.cursor
    encoder = formats.encoder(query, columns, part.facts)
    part.extension = encoder.extension
    pieces = encoder.encode(cutter.take(part, whole=query.format == WHOLE))
    part.stored = storing.store(export.pk, ids.new(), key, _counted(pieces, part))
    return part


def commit(export: Export, part: ExportPart) -> bool:
    """Store the part and the new cursor. Returns False if its text may have been erased since: write it again.

    raises  LeaseLost
    """
    stored = part.stored
    assert stored is not None
    with transaction.atomic():
        row = claims.locked(export)
        export.erasure_count, export.purged_to = row.erasure_count, row.purged_to
        if row.erasure_count != part.since.erasure_count and _is_spoilt(row, part):
            return False
        if part.has_file:
            ExportFile.objects.create(
                id=stored.id,
                export=export,
                number=part.number,
                name=f"part-{part.number:05d}.{part.extension}",
                stored_as=stored.name,
                rows=part.facts.rows,
                bytes=stored.bytes,
                sha256=stored.sha256,
                first=part.first,
                last=part.last,
                facts=noted(part.facts),
                values=part.facts.values.tobytes(),
            )
        Export.objects.filter(pk=export.pk).update(
            cursor=part.cursor,
            rows=F("rows") + part.facts.rows,
            left_out=F("left_out") + part.facts.left_out,
            left_out_by_reason=dict(Counter(row.left_out_by_reason) + part.facts.reasons),
            bytes=F("bytes") + (stored.bytes if part.has_file else 0),
            failures=0,
        )
    export.cursor = part.cursor
    return True


def _is_spoilt(export: Export, part: ExportPart) -> bool:
    if part.first is None or part.last is None:
        return False
    if export.purged_to not in (part.since.purged_to, None) and part.first <= export.purged_to:
        return True
    return withdrawing.erased_in(export, part.first, part.last, part.since.at)


def noted(facts: ExportFacts) -> dict[str, Any]:
    """Return the facts to store for a part, besides its scores."""
    return {
        "tasks": sorted(facts.tasks),
        "models": sorted(facts.models),
        "versions": sorted(facts.versions),
        "leftOut": facts.left_out,
    }


def facts_of(
    files: Iterable[ExportFile], exported_at: datetime, left_out: int, reasons: Mapping[str, int]
) -> ExportFacts:
    """Combine the facts of all parts. A part whose rows were all left out has no file."""
    facts = ExportFacts(exported_at=exported_at)
    for file in files:
        assert file.facts is not None
        values = array("d", bytes(file.values or b""))
        tasks, models = set(file.facts["tasks"]), set(file.facts["models"])
        versions = set(file.facts.get("versions", ()))  # missing in a part that was written without it
        facts.merge(ExportFacts(values=values, tasks=tasks, models=models, versions=versions, rows=file.rows))
    facts.left_out, facts.reasons = left_out, Counter(reasons)
    return facts


def data_files(export: Export) -> Any:
    return ExportFile.objects.filter(export=export, kind=FileKind.DATA).order_by("number")


def _counted(pieces: Iterable[bytes], part: ExportPart) -> Iterator[bytes]:
    for piece in pieces:
        part.size += len(piece)
        yield piece
