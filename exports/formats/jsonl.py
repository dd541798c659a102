"""JSON Lines: UTF-8 as it is, one row a line."""

from collections.abc import Iterable, Iterator

import msgspec

from exports.facts import Facts
from exports.formats.objects import Objects
from exports.shapes import Batch, Schema

# U+0085, U+2028 and U+2029: with the control characters, which JSON always escapes, all that ends a line in Python.
SEPARATORS = tuple((chr(code).encode(), f"\\u{code:04x}".encode()) for code in (0x85, 0x2028, 0x2029))
_encoder = msgspec.json.Encoder()


def pieces(schema: Schema, batches: Iterable[Batch], facts: Facts) -> Iterator[bytes]:
    """Each batch as one piece."""
    objects = Objects(schema)
    for batch in batches:
        if batch.rows:
            yield escaped(_encoder.encode_lines(objects.of(batch)))


def escaped(lines: bytes) -> bytes:
    """The lines with the separators escaped that JSON allows in a text and many readers take for the end of a line.

    Beyond ASCII there is nothing in JSON but texts, so the octets of these characters are nowhere else.
    """
    for octets, escape in SEPARATORS:
        if octets in lines:
            lines = lines.replace(octets, escape)
    return lines
