"""Write Parquet in row groups of bounded size, to a sink that is emptied after each.

pyarrow is imported on first use, so that a web process without exports saves the memory.
"""

import io
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec

from exports.formats import arrays
from exports.metadata import ExportFacts
from exports.structure import ColumnKind, Columns, RowBatch

GROUP_ROWS = 20_000
GROUP_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 256 * 1024
DEFAULT_COMPRESSION = "zstd"
LEVELS = {"zstd": 1, "gzip": 3}


class ParquetSink(io.RawIOBase):
    """A file object that holds what the writer wrote until it is drained. It knows its position but cannot seek."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self.parts.append(part)
        self.position += len(part)
        return len(part)

    def tell(self) -> int:
        return self.position

    def drain(self) -> Iterator[bytes]:
        """Yield what was written since the last call, in pieces of PIECE_BYTES, since a server copies what it sends."""
        parts, self.parts = self.parts, []
        piece = bytearray()
        for part in parts:
            for start in range(0, len(part), PIECE_BYTES):
                piece += part[start : start + PIECE_BYTES]
                if len(piece) >= PIECE_BYTES:
                    yield bytes(piece)
                    piece.clear()
        if piece:
            yield bytes(piece)


def pieces(
    columns: Columns, batches: Iterable[RowBatch], facts: ExportFacts, compression: str = DEFAULT_COMPRESSION
) -> Iterator[bytes]:
    """Yield the file in pieces, one for each row group, and its footer, which holds the data set's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.schema([arrays.field(pa, column) for column in columns])
    sink = ParquetSink()
    writer = pq.ParquetWriter(
        sink,
        arrow,
        compression=compression,
        compression_level=LEVELS[compression],
        memory_pool=pa.system_memory_pool(),  # returns freed memory to the system; the default pools keep it
        write_statistics=[column.name for column in columns if column.kind is ColumnKind.FLOAT],
        use_dictionary=list(_repeating(columns)),
        store_schema=False,  # Arrow's own copy of the schema would hide the metadata that is added at the end
    )
    with ThreadPoolExecutor(max_workers=1) as aside:  # encoding releases the GIL, so the next rows are read in parallel
        writing: Future[None] | None = None
        for group in _groups(pa, arrow, columns, batches):
            if writing:
                writing.result()
                yield from sink.drain()
            writing = aside.submit(writer.write_table, group, row_group_size=group.num_rows)
        if writing:
            writing.result()
    writer.add_key_value_metadata(_metadata(facts))
    writer.close()
    yield from sink.drain()


def _groups(pa: Any, arrow: Any, columns: Columns, batches: Iterable[RowBatch]) -> Iterator[Any]:
    """Combine batches into tables, each large enough for a row group."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        if batch.rows:
            row_arrays = [arrays.array_of(pa, *pair) for pair in zip(columns, batch.values, strict=True)]
            waiting.append(pa.RecordBatch.from_arrays(row_arrays, schema=arrow))
            rows, size = rows + batch.rows, size + waiting[-1].nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, arrow)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting, arrow)


def _repeating(columns: Columns, path: str = "") -> Iterator[str]:
    """Return the paths of columns that a dictionary makes smaller."""
    for column in columns:
        yield from _repeating(column.members, f"{path}{column.name}.")
        if column.kind is ColumnKind.DIMENSIONS:
            yield f"{path}{column.name}.key_value.key"
        elif column.repeats:
            yield path + column.name


def _metadata(facts: ExportFacts) -> dict[str, str]:
    """Return each member of the data set's metadata as JSON, and the time as plain text."""
    metadata = facts.as_json()
    moment = metadata.pop("exportedAt")
    return {"exportedAt": moment} | {name: msgspec.json.encode(value).decode() for name, value in metadata.items()}
