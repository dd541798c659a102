"""Build the first rows of an export with the layout and the encoder that also write its file."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, cast
from uuid import UUID

import msgspec

from exports import layouts
from exports.formats import jsonl
from exports.metadata import ExportFacts
from exports.reading import prompts, readers
from exports.reading.left_out import Forms
from exports.reading.ranges import RangeReader, RecordHead
from exports.reading.readers import RewardReader
from exports.requests import ExportQuery
from exports.structure import Layout, RowBatch
from scores.results.filters import Selection

SAMPLE: Final = 5
WIDTHS: Final = (200, 2_000)  # completions whose prompts are searched for the first rows
RANGES: Final = 3
MAX_TEXT: Final = 2_000  # characters of a text in a sample row


def sample(query: ExportQuery, selection: Selection) -> list[str]:
    """Return the first rows as the file would contain them, in JSON."""
    reader = readers.reader(query, selection)
    if query.layout not in prompts.LAYOUTS:
        names = _names_of_first(reader) if query.includes_dimensions else None
        return _rows(layouts.layout(query, selection, names=names), _FirstRowsReader(reader))
    first: Any = next(iter(prompts.of_each_task(cast(RewardReader, reader))), None)
    rows: list[str] = []
    for width in WIDTHS if first is not None else ():
        last = prompts.digest_at(first, width)
        rows = _rows(
            layouts.layout(query, selection), _FirstRowsReader(reader, upto=last, ranges=RANGES if last is None else 1)
        )
        if len(rows) >= SAMPLE or last is None:
            break
    return rows


def _names_of_first(reader: RangeReader) -> list[str]:
    """Return the dimension names of the first rows. The file has on each row the names of all rows."""
    heads, _ = reader.heads(None, SAMPLE)
    return sorted({dimension["name"] for head in heads for dimension in head.dimensions or ()})


def _rows(layout: Layout, reader: "_FirstRowsReader") -> list[str]:
    cast(ReadingLayout, layout).reader = cast(RangeReader, reader)
    rows: list[str] = []
    try:
        for batch in layout.batches():
            rows += _written(layout, batch)
            if len(rows) >= SAMPLE:
                break
    except _LimitReached:
        pass
    return rows[:SAMPLE]


def _written(layout: Layout, batch: RowBatch) -> list[str]:
    """Return the first rows of a batch, encoded as JSON Lines."""
    lines = b"".join(jsonl.pieces(layout.columns, [batch], ExportFacts())).split(b"\n")[:SAMPLE]
    rows = [msgspec.json.decode(line) for line in lines if line]
    return [json.dumps(_shortened(row), ensure_ascii=False, indent=2) for row in rows]


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}… ({len(value):,} characters)"
        case list():
            return [_shortened(member) for member in value]
        case dict():
            return {name: _shortened(member) for name, member in value.items()}
    return value


class ReadingLayout(Protocol):
    """The interface that all layouts share."""

    reader: RangeReader


class _LimitReached(Exception):
    """The preview has read its maximum number of ranges."""


@dataclass(slots=True)
class _FirstRowsReader:
    """A reader that returns only the first records.

    upto    the last prompt to read; None: no limit
    ranges  the number of ranges of prompts that it may still read
    """

    counts: ClassVar[bool] = False
    reader: Any
    upto: bytes | None = None
    ranges: int = RANGES

    @property
    def selection(self) -> Selection:
        return cast(Selection, self.reader.selection)

    @property
    def forms(self) -> Forms:
        return cast(Forms, self.reader.forms)

    def heads(self, after: UUID | None, limit: int) -> tuple[list[RecordHead], UUID | None]:
        heads, _ = self.reader.heads(after, SAMPLE, only_fitting=True)
        return heads[:SAMPLE], None

    def rewarded_completions(self) -> Any:
        if self.ranges == 0:
            raise _LimitReached
        self.ranges -= 1
        completions = self.reader.rewarded_completions()
        return completions if self.upto is None else completions.filter(prompt_digest__lte=self.upto)
