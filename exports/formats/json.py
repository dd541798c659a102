"""Write a small data set as one JSON object: `records`, then `metadata`, which is known only at the end."""

from collections.abc import Iterable, Iterator

import msgspec

from autotune.core.errors import Invalid
from exports.formats.objects import ObjectBuilder
from exports.metadata import ExportFacts
from exports.structure import Columns, RowBatch

MAX_RECORDS = 10_000


def pieces(columns: Columns, batches: Iterable[RowBatch], facts: ExportFacts) -> Iterator[bytes]:
    """Yield a piece for each batch, then the end.

    raises  Invalid beyond MAX_RECORDS, if the estimate did not show it
    """
    objects = ObjectBuilder(columns)
    lead = b'{"records":['
    for batch in batches:
        if facts.rows > MAX_RECORDS:
            raise too_many(facts.rows)
        if batch.rows:
            yield lead + msgspec.json.encode(objects.of(batch))[1:-1]
            lead = b","
    yield (b"" if facts.rows else lead) + b'],"metadata":' + msgspec.json.encode(facts.as_json()) + b"}"


def too_many(rows: int) -> Invalid:
    """Return the error for a JSON file that would be too large to load."""
    return Invalid.field(
        "?format",
        "too_many_records",
        f"there are {rows} records, and JSON holds at most {MAX_RECORDS}; use format=jsonl, or narrow the filters.",
    )
