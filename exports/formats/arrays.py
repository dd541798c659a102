"""Build Arrow arrays from Python values, buffer by buffer.

`pyarrow.array` would do it too, but it imports pandas on its first call: 60 MiB and a second of CPU in a web process.
Every function takes the module as `pa`, since it is imported on first use (exports/parquet.py).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from exports.structure import MESSAGE_MEMBERS, Column, ColumnKind, ColumnValues


def field(pa: Any, column: Column) -> Any:
    """Return the Arrow field of a column."""
    return pa.field(column.name, _type(pa, column), nullable=column.nullable)


def array_of(pa: Any, column: Column, values: ColumnValues) -> Any:
    """Return the Arrow array of a column's values."""
    match column.kind:
        case ColumnKind.TEXT:
            return texts(pa, values)
        case ColumnKind.FLOAT:
            return floats(pa, values)
        case ColumnKind.INTEGER:
            return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])
        case ColumnKind.BOOLEAN:
            return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(pa, values)])
        case ColumnKind.MOMENT:
            return moments(pa, values)
        case ColumnKind.DIMENSIONS:
            return maps(pa, values)
        case ColumnKind.MESSAGES | ColumnKind.TOOL_MESSAGES:
            return messages(pa, values, MESSAGE_MEMBERS[column.kind])
    members = [
        array_of(pa, member, member_values) for member, member_values in zip(column.members, values, strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=list(_type(pa, column)))


def _type(pa: Any, column: Column) -> Any:
    match column.kind:
        case ColumnKind.STRUCT:
            return pa.struct([field(pa, member) for member in column.members])
        case ColumnKind.MESSAGES | ColumnKind.TOOL_MESSAGES:
            return _messages_type(pa, MESSAGE_MEMBERS[column.kind])
    return {
        ColumnKind.TEXT: pa.string(),
        ColumnKind.FLOAT: pa.float64(),
        ColumnKind.INTEGER: pa.int64(),
        ColumnKind.BOOLEAN: pa.bool_(),
        ColumnKind.MOMENT: pa.timestamp("ms", tz="UTC"),
        ColumnKind.DIMENSIONS: pa.map_(pa.string(), pa.float64()),
    }[column.kind]


def _messages_type(pa: Any, members: Sequence[str]) -> Any:
    return pa.list_(pa.struct([pa.field(name, pa.string()) for name in members]))


def texts(pa: Any, values: Sequence[bytes | None]) -> Any:
    """Build a string array of UTF-8. All values together must stay under 2 GiB."""
    validity = _validity(pa, values)
    data = values if validity is None else [value or b"" for value in values]
    buffers = [validity, _offsets(pa, data), pa.py_buffer(b"".join(data))]  # type: ignore[arg-type] # None is gone
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def floats(pa: Any, values: Sequence[float | None]) -> Any:
    """Build a float64 array."""
    buffer = array("d", [0.0 if value is None else value for value in values])
    return pa.Array.from_buffers(pa.float64(), len(values), [_validity(pa, values), pa.py_buffer(buffer)])


def moments(pa: Any, values: Sequence[int]) -> Any:
    """Build a timestamp array in UTC, in milliseconds since 1970."""
    kind = pa.timestamp("ms", tz="UTC")
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(array("q", values))])


def maps(pa: Any, values: Sequence[Mapping[str, float | None] | None]) -> Any:
    """Build a map<string, double> array; the values may be null."""
    kind = pa.map_(pa.string(), pa.float64())
    names = texts(pa, [name.encode() for value in values for name in value or ()])
    numbers = floats(pa, [number for value in values for number in (value or {}).values()])
    entries = pa.StructArray.from_arrays([names, numbers], fields=[kind.key_field, kind.item_field])
    buffers = [_validity(pa, values), _offsets(pa, [value or () for value in values])]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[entries])


def messages(
    pa: Any, values: Sequence[Sequence[Sequence[bytes]]], names: Sequence[str] = MESSAGE_MEMBERS[ColumnKind.MESSAGES]
) -> Any:
    """Build a list<struct<role, content, …>> array.

    names  of the members; each message has one text for each
    """
    kind = _messages_type(pa, names)
    flat = [message for value in values for message in value]
    members = [texts(pa, [message[at] for message in flat]) for at in range(len(names))]
    items = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, len(values), [None, _offsets(pa, values)], children=[items])


def _offsets(pa: Any, values: Sequence[Any]) -> Any:
    """Return where each value begins, and where the last one ends."""
    import numpy as np

    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
    return pa.py_buffer(offsets)


def _validity(pa: Any, values: Sequence[object]) -> Any:
    """Return one bit for each value, set if it is not null; None if no value is null."""
    return _bits(pa, [value is not None for value in values]) if None in values else None


def _bits(pa: Any, values: Sequence[bool]) -> Any:
    """Return one bit for each value, the first in the lowest bit."""
    import numpy as np

    return pa.py_buffer(np.packbits(np.array(values, bool), bitorder="little"))
