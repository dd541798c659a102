"""Compression around a whole file. Files that were compressed apart may be put one behind the other."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

GZIP_LEVEL = 3
ZSTD_LEVEL = 3
AS_GZIP = 31  # zlib's window of 15 bits, in gzip's clothes; it writes no time, so that equal rows are equal octets

EXTENSIONS = {"gzip": "gz", "zstd": "zst"}
MEDIA_TYPES = {"gzip": "application/gzip", "zstd": "application/zstd"}


def compressed(pieces: Iterable[bytes], compression: str) -> Iterator[bytes]:
    """The pieces as one gzip member or zstd frame. Nothing at all is a valid empty one."""
    compressor = _compressor(compression)
    for piece in pieces:
        if octets := compressor.compress(piece):
            yield octets
    yield compressor.flush()


def _compressor(compression: str) -> Any:
    if compression == "gzip":
        return zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, AS_GZIP)
    import zstandard  # on first use: a web process that exports nothing does not carry it

    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compressobj()
