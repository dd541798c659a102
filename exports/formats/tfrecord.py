"""Write TFRecord: each row is a `tf.train.Example` in a frame of lengths and checksums.

    frame    length (8 bytes, little-endian), its masked CRC-32C (4), the message, its masked CRC-32C (4)
    message  Example {1: Features {1: map<string, Feature>}}, the entries by name, so that equal rows make equal bytes

There are no nested messages: a member of a struct is named `metadata/task_id`, a list of messages is JSON. A float
list holds 32 bits, so `<name>_decimal` beside it has the exact number as text. A null is left out, as such files do.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import google_crc32c
import msgspec

from exports.formats.objects import conversation
from exports.metadata import ExportFacts
from exports.structure import ColumnKind, Columns, ColumnValues, RowBatch

_length = struct.Struct("<Q").pack
_checksum = struct.Struct("<I").pack
_float = struct.Struct("<f").pack
BYTES_LIST, FLOAT_LIST, INT64_LIST = b"\x0a", b"\x12", b"\x1a"  # the tags of Feature's lists
MASK_64 = 2**64 - 1


def pieces(columns: Columns, batches: Iterable[RowBatch], facts: ExportFacts) -> Iterator[bytes]:
    """Yield each batch as one piece."""
    for batch in batches:
        if batch.rows:
            yield b"".join(map(framed, examples(columns, batch)))


def framed(message: bytes) -> bytes:
    """Return one record of the file."""
    length = _length(len(message))
    return b"".join((length, _checksum(masked(length)), message, _checksum(masked(message))))


def masked(data: bytes) -> int:
    """Return the masked CRC-32C: rotated right by 15 bits plus a constant, since the data may itself hold checksums."""
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def examples(columns: Columns, batch: RowBatch) -> Iterator[bytes]:
    """Return the message of each row."""
    features = dict(_features(columns, batch.values))
    for row in zip(*(features[name] for name in sorted(features)), strict=True):
        yield example(b"".join(row))


def example(entries: bytes) -> bytes:
    """Wrap the entries of the feature map in an Example."""
    return _field(b"\x0a", entries)


def entry(name: str) -> Callable[[bytes], bytes]:
    """Return a function that builds the map entry of a Feature."""
    key = _field(b"\x0a", name.encode())

    def make(feature: bytes) -> bytes:
        return _field(b"\x0a", key + _field(b"\x12", feature))

    return make


def text(value: bytes) -> bytes:
    """Return a Feature of one text."""
    return _field(BYTES_LIST, _field(b"\x0a", value))


def floats(*values: float) -> bytes:
    """Return a Feature of packed numbers."""
    return _field(FLOAT_LIST, _field(b"\x0a", b"".join(map(_float, values))))


def integers(*values: int) -> bytes:
    """Return a Feature of packed integers."""
    return _field(INT64_LIST, _field(b"\x0a", b"".join(_varint(value & MASK_64) for value in values)))


def _features(
    columns: Columns, values_by_column: Sequence[ColumnValues], path: str = ""
) -> Iterator[tuple[str, list[bytes]]]:
    """Return the names of features and the map entry of each row, b"" where a row has none."""
    for column, values in zip(columns, values_by_column, strict=True):
        name = path + column.name
        if column.kind is ColumnKind.STRUCT:
            yield from _features(column.members, values, f"{name}/")
        elif column.kind is ColumnKind.DIMENSIONS:
            yield from _dimensions(name, values)
        else:
            for suffix, make_feature in _MAKERS[column.kind]:
                yield _feature(name + suffix, make_feature, values)


def _feature(name: str, make_feature: Callable[[Any], bytes], values: Iterable[Any]) -> tuple[str, list[bytes]]:
    make_entry = entry(name)
    return name, [b"" if value is None else make_entry(make_feature(value)) for value in values]


def _dimensions(name: str, values: ColumnValues) -> Iterator[tuple[str, list[bytes]]]:
    names = dict.fromkeys(dimension for value in values for dimension in value or ())
    for dimension in names:
        yield _feature(f"{name}/{dimension}", floats, [(value or {}).get(dimension) for value in values])


def _decimal(value: float) -> bytes:
    return text(repr(value).encode())


def _messages(value: Sequence[Sequence[bytes]]) -> bytes:
    return text(msgspec.json.encode(conversation(ColumnKind.MESSAGES, value)))


def _tool_messages(value: Sequence[Sequence[bytes]]) -> bytes:
    return text(msgspec.json.encode(conversation(ColumnKind.TOOL_MESSAGES, value)))


_MAKERS: dict[ColumnKind, tuple[tuple[str, Callable[[Any], bytes]], ...]] = {
    ColumnKind.TEXT: (("", text),),
    ColumnKind.FLOAT: (("", floats), ("_decimal", _decimal)),
    ColumnKind.INTEGER: (("", integers),),
    ColumnKind.BOOLEAN: (("", integers),),
    ColumnKind.MOMENT: (("", integers),),
    ColumnKind.MESSAGES: (("", _messages),),
    ColumnKind.TOOL_MESSAGES: (("", _tool_messages),),
}


def _field(tag: bytes, value: bytes) -> bytes:
    return tag + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _SHORT[number]
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_SHORT = [bytes((number,)) for number in range(0x80)]
