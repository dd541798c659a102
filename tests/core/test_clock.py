"""Times of the wire and of filters."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.access.models import Organization
from autotune.core import clock
from tests.factories import OrganizationFactory

START = datetime(2026, 2, 28, tzinfo=UTC)
GOOD = [
    ("2026-02-28", START, START + timedelta(days=1)),
    ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ("2026-02-28T00:00:00Z", START, START),
    ("2026-02-28T00:00:00.000Z", START, START),
    ("2026-02-28T00:00", START, START),
    ("2026-02-28T01:30:00+01:30", START, START),
    ("2026-02-27T19:00:00-05:00", START, START),
    ("2026-02-28T00:00:00.123456Z", START.replace(microsecond=123456), START.replace(microsecond=123456)),
    ("2038-01-19T03:14:08Z", datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC), datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)),
]


@pytest.mark.parametrize(("text", "start", "end"), GOOD)
def test_a_date_is_inclusive_as_an_end_and_a_date_time_exclusive(text, start, end):
    assert clock.parse_filter(text, end=False) == start
    assert clock.parse_filter(text, end=True) == end


@pytest.mark.parametrize(
    "text",
    [
        "", "yesterday", "2026", "2026-02-29", "2026-13-01", "2026-02-28T24:01", "2026-02-28T23:59:60Z", "1e9", "0",
        "2026-02-28T00:00:00+99:00", "2026-02-28 ", "٢٠٢٦-02-28T00:00", "0000-01-01", "-001-01-01", "2026-02-28T00:00ZZ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", [False, True])
def test_an_invalid_date_is_refused(text, end):
    with pytest.raises(ValueError):
        clock.parse_filter(text, end=end)


@pytest.mark.parametrize(
    ("text", "end"), [("9999-12-31", True), ("9999-12-31T23:59-10:00", False), ("0001-01-01T00:00+14:00", False)]
)
def test_an_instant_outside_the_calendar_is_refused(text, end):
    with pytest.raises(ValueError, match="outside the years"):
        clock.parse_filter(text, end=end)


@given(st.text(alphabet="0123456789-:T.Z+W ", max_size=32), st.booleans())
def test_every_text_is_an_instant_in_utc_or_refused(text, end):
    with suppress(ValueError):
        assert clock.parse_filter(text, end=end).utcoffset() == timedelta(0)


@given(st.dates(date(1000, 1, 1), date(9999, 12, 30)))
def test_the_end_of_a_day_is_the_start_of_the_next(day):
    assert clock.parse_filter(day.isoformat(), end=True) == clock.parse_filter(
        (day + timedelta(days=1)).isoformat(), end=False
    )


def test_wire_times_are_utc_with_milliseconds_cut_off():
    moment = datetime(2026, 2, 28, 1, 2, 3, 999999, tzinfo=timezone(timedelta(hours=2)))
    assert clock.wire(moment) == "2026-02-27T23:02:03.999Z"
    assert clock.wire(START) == "2026-02-28T00:00:00.000Z"


@pytest.mark.django_db
def test_the_database_clock_is_available_in_a_query_and_separately():
    OrganizationFactory()
    before = clock.database_now()
    query_time = Organization.objects.annotate(now=clock.DatabaseNow()).values_list("now", flat=True).get()
    after = clock.database_now()
    assert before - timedelta(milliseconds=1) <= query_time <= after  # SQLite returns whole milliseconds
    assert query_time.utcoffset() == timedelta(0)


@pytest.mark.django_db
def test_the_databases_clock_compares_with_stored_times():
    OrganizationFactory()
    assert Organization.objects.filter(created_at__lte=clock.DatabaseNow() + timedelta(seconds=1)).exists()
    assert not Organization.objects.filter(created_at__gt=clock.DatabaseNow() + timedelta(seconds=1)).exists()
