"""Records as Parquet: row groups of bounded size, written to a sink that is drained after each.

pyarrow is imported on first use: a web process that exports nothing does not carry it.
"""

import io
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from autotune.core import clock
from exports import columns
from exports.records import CamelMetadataOut, MetadataOut, RecordOut
from scores.summary import DistributionOut, PercentilesOut

GROUP_ROWS = 20_000
GROUP_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 256 * 1024
TEXT_MEMBERS = MetadataOut.__struct_fields__[:-2]
REPEATING = (0, 1, 3, 4, 5)  # members of the metadata that many records share: ids and labels, not the completion's id


class Sink(io.RawIOBase):
    """Takes what the writer writes until it is drained. Knows its position, cannot seek."""

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
        """What was written since the last time, in pieces of PIECE_BYTES: a server copies what it sends."""
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


@dataclass(slots=True)
class Facts:
    """What the file says of itself, known at its end: 8 octets a record are kept for it."""

    exported_at: datetime
    values: array = field(default_factory=lambda: array("d"))
    tasks: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    left_out: int = 0

    def add(self, records: Sequence[RecordOut], left_out: int) -> None:
        self.values.extend(record.score for record in records)
        self.tasks.update(record.metadata.task_id for record in records)
        self.models.update(record.metadata.model_id for record in records)
        self.left_out += left_out

    def as_metadata(self) -> dict[str, str]:
        """The members of the dataset's metadata by name; each is JSON, the time plain text."""
        facts = {
            "taskIds": sorted(self.tasks),
            "modelIds": sorted(self.models),
            "totalRecords": len(self.values),
            "leftOut": self.left_out,
            "scoreDistribution": _distribution(self.values),
        }
        return {"exportedAt": clock.wire(self.exported_at)} | {
            name: msgspec.json.encode(value).decode() for name, value in facts.items()
        }


def encode(groups: Iterable[tuple[list[RecordOut], int]], *, naming: str, exported_at: datetime) -> Iterator[bytes]:
    """The file in pieces, one for each row group, and its end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(pa, CamelMetadataOut if naming == "camel" else MetadataOut)
    sink, facts = Sink(), Facts(exported_at)
    members = schema.field("metadata").type
    writer = pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        memory_pool=pa.system_memory_pool(),  # gives back what it frees; the default pools keep it
        write_statistics=["score"],
        use_dictionary=["prompt", *(f"metadata.{members.field(number).name}" for number in REPEATING)],
        store_schema=False,  # Arrow's own copy of the schema would hide the metadata that is added at the end
    )
    waiting: list[Any] = []
    rows = size = 0
    for records, left_out in groups:
        facts.add(records, left_out)
        if records:
            batch = _batch(pa, schema, records)
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=rows)
            waiting, rows, size = [], 0, 0
            yield from sink.drain()
    if waiting:
        writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=rows)
    writer.add_key_value_metadata(facts.as_metadata())
    writer.close()
    yield from sink.drain()


def _schema(pa: Any, metadata: type[msgspec.Struct]) -> Any:
    kinds = {"confidence": pa.float64(), "scored_at": pa.timestamp("ms", tz="UTC")}
    members = zip(metadata.__struct_fields__, metadata.__struct_encode_fields__, strict=True)
    return pa.schema(
        [
            pa.field("prompt", pa.string(), nullable=False),
            pa.field("response", pa.string(), nullable=False),
            pa.field("score", pa.float64(), nullable=False),
            pa.field("dimensions", pa.map_(pa.string(), pa.float64())),
            pa.field("metadata", pa.struct([pa.field(wire, kinds.get(name, pa.string())) for name, wire in members])),
        ]
    )


def _batch(pa: Any, schema: Any, records: Sequence[RecordOut]) -> Any:
    told = [record.metadata for record in records]
    members = [columns.texts(pa, [getattr(one, name) for one in told]) for name in TEXT_MEMBERS]
    members.append(columns.floats(pa, [one.confidence for one in told]))
    members.append(columns.moments(pa, [datetime.fromisoformat(one.scored_at) for one in told]))
    return pa.RecordBatch.from_arrays(
        [
            columns.texts(pa, [record.prompt for record in records]),
            columns.texts(pa, [record.response for record in records]),
            columns.floats(pa, [record.score for record in records]),
            columns.maps(pa, [record.dimensions for record in records]),
            pa.StructArray.from_arrays(members, fields=list(schema.field("metadata").type)),
        ],
        schema=schema,
    )


def _distribution(values: array) -> DistributionOut | None:
    """The population's standard deviation, percentiles interpolated linearly; None without values."""
    import numpy as np

    if not values:
        return None
    scores = np.frombuffer(values)
    percentiles = [float(number) for number in np.percentile(scores, (25, 50, 75, 95))]
    return DistributionOut(
        float(scores.mean()),
        float(scores.std()),
        float(scores.min()),
        float(scores.max()),
        PercentilesOut(*percentiles),
    )
