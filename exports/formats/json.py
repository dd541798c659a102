"""One JSON object for small sets: `records`, and `metadata` at its end, where it is known."""

from collections.abc import Iterable, Iterator

import msgspec

from autotune.core.errors import Invalid
from exports.formats.objects import Objects
from exports.metadata import Facts
from exports.structure import Batch, Schema

MAX_RECORDS = 10_000


def pieces(schema: Schema, batches: Iterable[Batch], facts: Facts) -> Iterator[bytes]:
    """A piece for each batch, and the end.

    raises  Invalid beyond MAX_RECORDS, where the count before did not tell
    """
    objects = Objects(schema)
    lead = b'{"records":['
    for batch in batches:
        if facts.rows > MAX_RECORDS:
            raise too_many(facts.rows)
        if batch.rows:
            yield lead + msgspec.json.encode(objects.of(batch))[1:-1]
            lead = b","
    yield (b"" if facts.rows else lead) + b'],"metadata":' + msgspec.json.encode(facts.as_json()) + b"}"


def too_many(rows: int) -> Invalid:
    """What is said instead of a JSON file that nobody can load."""
    return Invalid.field(
        "?format",
        "too_many_records",
        f"there are {rows} records, and JSON holds {MAX_RECORDS} at most; give format=jsonl, or a narrower filter.",
    )
