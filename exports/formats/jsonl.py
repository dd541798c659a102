"""JSON Lines: UTF-8 as it is, one row a line."""

from collections.abc import Iterable, Iterator

import msgspec

from exports.facts import Facts
from exports.formats.objects import Objects
from exports.shapes import Batch, Schema

_encoder = msgspec.json.Encoder()


def pieces(schema: Schema, batches: Iterable[Batch], facts: Facts) -> Iterator[bytes]:
    """Each batch as one piece."""
    objects = Objects(schema)
    for batch in batches:
        if batch.rows:
            yield _encoder.encode_lines(objects.of(batch))
