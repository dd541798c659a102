"""Compress whole files. Files that were compressed separately can be concatenated."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

GZIP_LEVEL = 3
ZSTD_LEVEL = 3
AS_GZIP = 31  # a 15-bit window with a gzip header; without a time stamp, so that equal rows make equal bytes

EXTENSIONS = {"gzip": "gz", "zstd": "zst"}
MEDIA_TYPES = {"gzip": "application/gzip", "zstd": "application/zstd"}


def compressed(pieces: Iterable[bytes], compression: str) -> Iterator[bytes]:
    """Compress the pieces into one gzip member or zstd frame. No output at all is valid and means empty."""
    compressor = _compressor(compression)
    for piece in pieces:
        if output := compressor.compress(piece):
            yield output
    yield compressor.flush()


def _compressor(compression: str) -> Any:
    if compression == "gzip":
        return zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, AS_GZIP)
    import zstandard  # imported on first use: a web process without exports saves the memory

    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compressobj()
