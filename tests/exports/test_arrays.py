"""Arrow arrays built of buffers hold what was put in."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from exports.formats import arrays
from exports.structure import Column, ColumnKind

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=20)
FLOATS = st.floats(allow_nan=False)


def checked(array):
    array.validate(full=True)
    return array


@given(TEXTS)
def test_texts(values):
    array = checked(arrays.texts(pa, [None if value is None else value.encode() for value in values]))
    assert (array.to_pylist(), array.type, array.null_count) == (values, pa.string(), values.count(None))


@given(st.lists(st.none() | FLOATS, max_size=20))
def test_floats(values):
    assert checked(arrays.floats(pa, values)).to_pylist() == values


@settings(deadline=None)  # the first reading of times loads the time zones
@given(st.lists(st.integers(-(10**12), 10**13), max_size=20))
def test_moments_are_exact_to_the_millisecond(milliseconds):
    array = checked(arrays.moments(pa, milliseconds))
    assert array.to_pylist() == [EPOCH + timedelta(milliseconds=number) for number in milliseconds]
    assert array.type == pa.timestamp("ms", tz="UTC")


@given(
    st.lists(
        st.none()
        | st.dictionaries(
            st.text(st.characters(exclude_categories=("Cs",)), max_size=4), st.none() | FLOATS, max_size=4
        ),
        max_size=12,
    )
)
def test_maps(values):
    array = checked(arrays.maps(pa, values))
    assert [None if row is None else dict(row) for row in array.to_pylist()] == values


def test_messages():
    values = [[("user", "2+2?"), ("assistant", "4 😀")], [], [("system", "")]]
    encoded = [[(role.encode(), content.encode()) for role, content in value] for value in values]
    array = checked(arrays.messages(pa, encoded))
    assert [[(message["role"], message["content"]) for message in row] for row in array.to_pylist()] == values


@given(st.lists(st.booleans(), max_size=20), st.integers(-(2**63), 2**63 - 1))
def test_booleans_and_integers(values, number):
    array = checked(arrays.array_of(pa, Column("label", ColumnKind.BOOLEAN), values))
    assert array.to_pylist() == values
    assert arrays.array_of(pa, Column("index", ColumnKind.INTEGER), [number]).to_pylist() == [number]
