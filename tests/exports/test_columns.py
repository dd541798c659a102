"""Arrow arrays built of buffers hold what was put in."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from exports import columns

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=8), max_size=20)
FLOATS = st.floats(allow_nan=False)


def checked(made):
    made.validate(full=True)
    return made


@given(TEXTS)
def test_texts(values):
    made = checked(columns.texts(pa, values))
    assert (made.to_pylist(), made.type, made.null_count) == (values, pa.string(), values.count(None))


@given(st.lists(st.none() | FLOATS, max_size=20))
def test_floats(values):
    assert checked(columns.floats(pa, values)).to_pylist() == values


@settings(deadline=None)  # the first reading of times loads the time zones
@given(st.lists(st.integers(-(10**12), 10**13), max_size=20))
def test_moments_are_exact_to_the_millisecond(milliseconds):
    values = [columns.EPOCH + timedelta(milliseconds=number) for number in milliseconds]
    made = checked(columns.moments(pa, values))
    assert made.to_pylist() == values
    assert columns.moments(pa, [datetime(2026, 11, 28, tzinfo=UTC)]).type == pa.timestamp("ms", tz="UTC")


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
    made = checked(columns.maps(pa, values))
    assert [None if row is None else dict(row) for row in made.to_pylist()] == values
