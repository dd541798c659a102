"""Encrypted files: AES-256-GCM in chunks, so that a file can be written as a stream and read from any offset.

A chunk is a random nonce (12 bytes), the ciphertext of CHUNK bytes (the last chunk holds the rest) and the tag
(16). Associated data: the file's id, the chunk's number, and whether it is the last. So a chunk that was moved,
removed, or taken from another file does not decrypt, and neither does a truncated file.
"""

import os
from collections.abc import Iterator
from typing import Final, Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CHUNK: Final = 64 * 1024
NONCE: Final = 12
TAG: Final = 16
SEALED_CHUNK: Final = NONCE + CHUNK + TAG
KEY: Final = 32


class DamagedFile(Exception):
    """The stored bytes are not those that were written: altered, truncated, or from another file or key."""


class SealedSource(Protocol):
    def read(self, size: int, /) -> bytes: ...


class SealedTarget(Protocol):
    def write(self, data: bytes, /) -> object: ...


class SealedFileWriter:
    """Writes one file. The file is complete only after `close()`."""

    def __init__(self, key: bytes, file_id: UUID, target: SealedTarget) -> None:
        self._aead, self._file, self._target = AESGCM(key), file_id.bytes, target
        self._waiting = bytearray()
        self._number = 0

    def write(self, data: bytes) -> None:
        self._waiting += data
        start = 0
        with memoryview(self._waiting) as view:
            while len(view) - start > CHUNK:  # not >=: only another byte shows that this chunk is not the last
                self._seal(view[start : start + CHUNK], last=False)
                start += CHUNK
        if start:
            del self._waiting[:start]

    def close(self) -> None:
        self._seal(self._waiting, last=True)
        self._waiting = bytearray()

    def _seal(self, plain: bytearray | memoryview, *, last: bool) -> None:
        nonce = os.urandom(NONCE)
        place = associated(self._file, self._number, last=last)
        self._target.write(nonce + self._aead.encrypt(nonce, plain, place))
        self._number += 1


def associated(file: bytes, number: int, *, last: bool) -> bytes:
    """Return what binds a chunk to its place: file id (16 bytes), number (8, big-endian), 1 if last, else 0."""
    return file + number.to_bytes(8, "big") + bytes([last])


def chunks(size: int) -> int:
    """Return the number of chunks of a file of `size` bytes, at least one."""
    return max(1, -(-size // CHUNK))


def stored_offset(offset: int) -> int:
    """Return the storage offset of the chunk that holds this byte of the file."""
    return offset // CHUNK * SEALED_CHUNK


def opened(source: SealedSource, key: bytes, file_id: UUID, size: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `end` of a file of `size` bytes, in pieces of up to CHUNK.

    source   positioned at `stored_offset(start)`
    raises   DamagedFile
    """
    aead, last = AESGCM(key), chunks(size) - 1
    for number in range(start // CHUNK, chunks(end) if end else 1):
        begins = number * CHUNK
        chunk = _exactly(source, NONCE + min(CHUNK, size - begins) + TAG)
        try:
            plain = aead.decrypt(chunk[:NONCE], chunk[NONCE:], associated(file_id.bytes, number, last=number == last))
        except InvalidTag:
            raise DamagedFile(f"chunk {number} of {file_id} does not decrypt") from None
        yield plain[max(0, start - begins) : end - begins]


def _exactly(source: SealedSource, size: int) -> bytes:
    data = source.read(size)
    while len(data) < size:
        more = source.read(size - len(data))
        if not more:
            raise DamagedFile("the stored file ends too early")
        data += more
    return data
