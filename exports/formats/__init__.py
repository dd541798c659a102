"""File formats: each encodes batches of rows as bytes."""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from exports.formats import compression, json, jsonl, parquet, tfrecord
from exports.metadata import ExportFacts
from exports.requests import ExportQuery
from exports.structure import Columns, Encoder, RowBatch


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format.

    pieces      `pieces(columns, batches, facts)` yields its bytes; the facts are complete once the batches are
    compresses  the format compresses by itself, as a fourth argument says
    """

    media_type: str
    extension: str
    pieces: Callable[..., Iterator[bytes]]
    compresses: bool = False


FORMATS = {
    "jsonl": FileFormat("application/x-ndjson", "jsonl", jsonl.pieces),
    "parquet": FileFormat("application/vnd.apache.parquet", "parquet", parquet.pieces, compresses=True),
    "tfrecord": FileFormat("application/octet-stream", "tfrecord", tfrecord.pieces),
    "json": FileFormat("application/json", "json", json.pieces),
}
MEDIA_TYPES = (*(file_format.media_type for file_format in FORMATS.values()), *compression.MEDIA_TYPES.values())


@dataclass(slots=True)
class _Encoder:
    media_type: str
    extension: str
    facts: ExportFacts
    make: Callable[[Iterable[RowBatch]], Iterator[bytes]]

    def encode(self, batches: Iterable[RowBatch]) -> Iterator[bytes]:
        return self.make(self.facts.noting(batches))


def encoder(query: ExportQuery, columns: Columns, facts: ExportFacts) -> Encoder:
    """Encodes one file as a checked query requires. `facts` are filled while it encodes."""
    file_format, compression_name = FORMATS[query.format], query.compression

    def make(batches: Iterable[RowBatch]) -> Iterator[bytes]:
        return file_format.pieces(columns, batches, facts)

    if compression_name is None:
        return _Encoder(file_format.media_type, file_format.extension, facts, make)
    if file_format.compresses:
        make_compressed = functools.partial(file_format.pieces, columns, facts=facts, compression=compression_name)
        return _Encoder(file_format.media_type, file_format.extension, facts, make_compressed)
    return _Encoder(
        compression.MEDIA_TYPES[compression_name],
        f"{file_format.extension}.{compression.EXTENSIONS[compression_name]}",
        facts,
        lambda batches: compression.compressed(make(batches), compression_name),
    )
