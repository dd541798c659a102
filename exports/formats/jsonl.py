"""Write JSON Lines: one row on each line, in UTF-8 without escapes where possible."""

from collections.abc import Iterable, Iterator

import msgspec

from exports.formats.objects import ObjectBuilder
from exports.metadata import ExportFacts
from exports.structure import Columns, RowBatch

# With the control characters, which JSON always escapes, U+0085, U+2028 and U+2029 are all line ends of Python.
SEPARATORS = tuple((chr(code).encode(), f"\\u{code:04x}".encode()) for code in (0x85, 0x2028, 0x2029))
_encoder = msgspec.json.Encoder()


def pieces(columns: Columns, batches: Iterable[RowBatch], facts: ExportFacts) -> Iterator[bytes]:
    """Yield each batch as one piece."""
    objects = ObjectBuilder(columns)
    for batch in batches:
        if batch.rows:
            yield escaped(_encoder.encode_lines(objects.of(batch)))


def escaped(lines: bytes) -> bytes:
    """Escape the separators that JSON allows in text but many readers treat as the end of a line.

    JSON has characters beyond ASCII only in text, so the bytes of these characters occur nowhere else.
    """
    for separator, escape in SEPARATORS:
        if separator in lines:
            lines = lines.replace(separator, escape)
    return lines
