"""File formats: each encodes batches of rows as bytes."""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from exports.formats import compression, json, jsonl, parquet, tfrecord
from exports.metadata import Facts
from exports.requests import ExportQuery
from exports.structure import Batch, Encoder, Schema


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    pieces      `pieces(schema, batches, facts)` yields its bytes; the facts are complete once the batches are
    compresses  the format compresses by itself, as a fourth argument says
    """

    media_type: str
    extension: str
    pieces: Callable[..., Iterator[bytes]]
    compresses: bool = False


FORMATS = {
    "jsonl": Format("application/x-ndjson", "jsonl", jsonl.pieces),
    "parquet": Format("application/vnd.apache.parquet", "parquet", parquet.pieces, compresses=True),
    "tfrecord": Format("application/octet-stream", "tfrecord", tfrecord.pieces),
    "json": Format("application/json", "json", json.pieces),
}
MEDIA_TYPES = (*(file_format.media_type for file_format in FORMATS.values()), *compression.MEDIA_TYPES.values())


@dataclass(slots=True)
class _Encoder:
    media_type: str
    extension: str
    facts: Facts
    make: Callable[[Iterable[Batch]], Iterator[bytes]]

    def encode(self, batches: Iterable[Batch]) -> Iterator[bytes]:
        return self.make(self.facts.noting(batches))


def encoder(query: ExportQuery, schema: Schema, facts: Facts) -> Encoder:
    """Encodes one file as a checked query requires. `facts` are filled while it encodes."""
    file_format, compression_name = FORMATS[query.format], query.compression

    def make(batches: Iterable[Batch]) -> Iterator[bytes]:
        return file_format.pieces(schema, batches, facts)

    if compression_name is None:
        return _Encoder(file_format.media_type, file_format.extension, facts, make)
    if file_format.compresses:
        make_compressed = functools.partial(file_format.pieces, schema, facts=facts, compression=compression_name)
        return _Encoder(file_format.media_type, file_format.extension, facts, make_compressed)
    return _Encoder(
        compression.MEDIA_TYPES[compression_name],
        f"{file_format.extension}.{compression.EXTENSIONS[compression_name]}",
        facts,
        lambda batches: compression.compressed(make(batches), compression_name),
    )
