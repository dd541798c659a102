"""TFRecord: the vectors of its specification, read back by a reader of its own, and a file that stays as it is.

golden/every_kind.tfrecord was also read by TensorFlow 2 and by the package `tfrecord` (docs/exports.md).
"""

import pathlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.formats import tfrecord
from exports.metadata import ExportFacts
from exports.structure import Column, ColumnKind, RowBatch
from tests.exports import tfrecords

GOLDEN = pathlib.Path(__file__).parent / "golden" / "every_kind.tfrecord"
COLUMNS = (
    Column("prompt", ColumnKind.TEXT),
    Column("messages", ColumnKind.MESSAGES),
    Column("score", ColumnKind.FLOAT),
    Column("margin", ColumnKind.FLOAT, nullable=True),
    Column("index", ColumnKind.INTEGER),
    Column("label", ColumnKind.BOOLEAN),
    Column("dimensions", ColumnKind.DIMENSIONS, nullable=True),
    Column(
        "metadata",
        ColumnKind.STRUCT,
        members=(Column("grader_id", ColumnKind.TEXT, nullable=True), Column("scored_at", ColumnKind.MOMENT)),
    ),
)
BATCH = RowBatch(
    values=[
        ["2 + 2? 😀".encode(), b""],
        [[(b"user", b"2 + 2?"), (b"assistant", "“4”".encode())], []],
        [0.1, 1.0],
        [None, 0.75],
        [-1, 2**40],
        [True, False],
        [{"form": 0.5, "tone": None}, {"form": None, "tone": 1.0}],
        [[b"grader_1", None], [1_767_225_600_123, -1]],
    ],
    rows=2,
)


def test_the_vectors_of_the_specification():
    assert tfrecords.crc32c(b"123456789") == 0xE3069283
    message = tfrecord.example(tfrecord.entry("prompt")(tfrecord.text(b"hi")))
    assert message.hex() == "0a120a100a0670726f6d707412060a040a026869"
    assert tfrecord.framed(message).hex() == (
        "14000000000000005e3d29150a120a100a0670726f6d707412060a040a0268696b2eab48"
    )
    assert tfrecord.floats(0.5, 1.0).hex() == "120a0a080000003f0000803f"
    assert tfrecord.integers(1, -1).hex() == "1a0d0a0b01ffffffffffffffffff01"


def test_it_reads_back_unchanged():
    first, second = tfrecords.examples(b"".join(tfrecord.pieces(COLUMNS, [BATCH], ExportFacts())))
    assert first == {
        "prompt": ["2 + 2? 😀".encode()],
        "messages": ['[{"role":"user","content":"2 + 2?"},{"role":"assistant","content":"“4”"}]'.encode()],
        "score": [struct.unpack("<f", struct.pack("<f", 0.1))[0]],
        "score_decimal": [b"0.1"],
        "index": [-1],
        "label": [1],
        "dimensions/form": [0.5],
        "metadata/grader_id": [b"grader_1"],
        "metadata/scored_at": [1_767_225_600_123],
    }
    assert second == {
        "prompt": [b""],
        "messages": [b"[]"],
        "score": [1.0],
        "score_decimal": [b"1.0"],
        "margin": [0.75],
        "margin_decimal": [b"0.75"],
        "index": [2**40],
        "label": [0],
        "dimensions/tone": [1.0],
        "metadata/scored_at": [-1],
    }


def test_the_file_is_identical_to_the_golden_file():
    assert b"".join(tfrecord.pieces(COLUMNS, [BATCH], ExportFacts())) == GOLDEN.read_bytes()


@pytest.mark.parametrize("index", [0, 9, 20, -3])
def test_the_reader_detects_a_changed_byte(index):
    content = bytearray(GOLDEN.read_bytes())
    content[index] ^= 1
    with pytest.raises((AssertionError, struct.error)):
        tfrecords.examples(bytes(content))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.binary(max_size=300))
def test_numbers_and_texts_of_any_length(numbers, text):
    entries = tfrecord.entry("a")(tfrecord.text(text)) + tfrecord.entry("b")(tfrecord.integers(*numbers))
    (features,) = tfrecords.examples(tfrecord.framed(tfrecord.example(entries)))
    assert features == {"a": [text], "b": numbers}
