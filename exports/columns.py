"""Arrow arrays from Python values, built of their buffers.

`pyarrow.array` would do it too, but it imports pandas on its first call: 60 MiB and a second of CPU in a web process.
Every function takes the module as `pa`, since it is imported on first use (exports/parquet.py).
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def texts(pa: Any, values: Sequence[str | None]) -> Any:
    """A string array. The octets of all values must stay under 2 GiB."""
    data = [b"" if value is None else value.encode() for value in values]
    buffers = [_validity(pa, values), _offsets(pa, map(len, data)), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def floats(pa: Any, values: Sequence[float | None]) -> Any:
    """A float64 array."""
    octets = array("d", [0.0 if value is None else value for value in values])
    return pa.Array.from_buffers(pa.float64(), len(values), [_validity(pa, values), pa.py_buffer(octets)])


def moments(pa: Any, values: Sequence[datetime]) -> Any:
    """A timestamp array in UTC, in milliseconds."""
    kind = pa.timestamp("ms", tz="UTC")
    octets = array("q", [(value - EPOCH) // MILLISECOND for value in values])
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(octets)])


def maps(pa: Any, values: Sequence[Mapping[str, float | None] | None]) -> Any:
    """A map<string, double> array; the values may be null."""
    kind = pa.map_(pa.string(), pa.float64())
    names = texts(pa, [name for value in values for name in value or ()])
    numbers = floats(pa, [number for value in values for number in (value or {}).values()])
    entries = pa.StructArray.from_arrays([names, numbers], fields=[kind.key_field, kind.item_field])
    buffers = [_validity(pa, values), _offsets(pa, (len(value or ()) for value in values))]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[entries])


def _offsets(pa: Any, lengths: Iterable[int]) -> Any:
    offsets = array("i", [0])
    end = 0
    for length in lengths:
        end += length
        offsets.append(end)
    return pa.py_buffer(offsets)


def _validity(pa: Any, values: Sequence[object]) -> Any:
    """A bit for each value, the first in the lowest; None if no value is null."""
    if None not in values:
        return None
    bits = bytearray((len(values) + 7) // 8)
    for number, value in enumerate(values):
        if value is not None:
            bits[number >> 3] |= 1 << (number & 7)
    return pa.py_buffer(bytes(bits))
