"""The format of sealed files: any range can be read, and altered data is refused."""

import io
import os

import pytest

from autotune.core import ids
from exports.files import sealed
from exports.files.sealed import CHUNK, DamagedFile, SealedFileWriter, opened, stored_offset

KEY = bytes(range(32))
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 17]


def seal(plain, file_id, pieces=1000):
    target = io.BytesIO()
    sealer = SealedFileWriter(KEY, file_id, target)
    for start in range(0, len(plain), pieces):
        sealer.write(plain[start : start + pieces])
    sealer.close()
    return target.getvalue()


def part(stored, file_id, size, start, end, key=KEY):
    source = io.BytesIO(stored)
    source.seek(stored_offset(start))
    return b"".join(opened(source, key, file_id, size, start, end))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pieces", [997, CHUNK, 10 * CHUNK])
def test_every_range_is_what_was_written(size, pieces):
    plain, file_id = os.urandom(size), ids.new()
    stored = seal(plain, file_id, pieces)
    assert len(stored) == size + max(1, -(-size // CHUNK)) * (sealed.NONCE + sealed.TAG)
    assert part(stored, file_id, size, 0, size) == plain
    edges = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, size - 1, size}
    for start in sorted(edges):
        for end in sorted(edges):
            if 0 <= start < end <= size:
                assert part(stored, file_id, size, start, end) == plain[start:end]


def test_a_sealed_file_contains_no_plaintext():
    text = b"a prompt that a customer wrote " * 5000
    assert b"customer" not in seal(text, ids.new())


@pytest.mark.parametrize("place", [0, 11, 12, 5000, CHUNK + 27, -1])
def test_a_changed_byte_is_detected(place):
    plain, file_id = os.urandom(2 * CHUNK), ids.new()
    stored = bytearray(seal(plain, file_id))
    stored[place] ^= 1
    with pytest.raises(DamagedFile):
        part(bytes(stored), file_id, len(plain), 0, len(plain))


def test_a_file_truncated_at_a_chunk_is_detected():
    plain, file_id = os.urandom(3 * CHUNK), ids.new()
    stored = seal(plain, file_id)
    shorter = stored[: 2 * sealed.SEALED_CHUNK]
    with pytest.raises(DamagedFile):
        part(shorter, file_id, 3 * CHUNK, 0, 3 * CHUNK)
    with pytest.raises(DamagedFile):  # also by somebody who can change what its size is said to be
        part(shorter, file_id, 2 * CHUNK, 0, 2 * CHUNK)


def test_chunks_cannot_change_places():
    plain, file_id = os.urandom(3 * CHUNK), ids.new()
    stored = seal(plain, file_id)
    first, second, rest = stored[: sealed.SEALED_CHUNK], stored[sealed.SEALED_CHUNK :][: sealed.SEALED_CHUNK], None
    rest = stored[2 * sealed.SEALED_CHUNK :]
    with pytest.raises(DamagedFile):
        part(second + first + rest, file_id, len(plain), 0, len(plain))


def test_another_file_id_or_key_decrypts_nothing():
    plain, file_id = b"text", ids.new()
    stored = seal(plain, file_id)
    for key, other in ((KEY, ids.new()), (bytes(32), file_id)):
        with pytest.raises(DamagedFile):
            part(stored, other, 4, 0, 4, key)


def test_the_same_text_is_never_the_same_twice():
    file_id = ids.new()
    assert seal(b"text", file_id) != seal(b"text", file_id)
