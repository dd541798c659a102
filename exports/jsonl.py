"""Records as JSON Lines: UTF-8 as it is, one record a line."""

from collections.abc import Iterable, Iterator

import msgspec

from exports.records import RecordOut

_encoder = msgspec.json.Encoder()


def encode(groups: Iterable[tuple[list[RecordOut], int]]) -> Iterator[bytes]:
    """Each group of records as one piece."""
    for records, _ in groups:
        if records:
            yield _encoder.encode_lines(records)
