"""Charts in the time zone of a person: round local times, clock changes, the turn of a year."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from autotune.charts import Series, columns, lines
from autotune.charts.times import moment, moments, named_moment, time_labels, time_ticks
from autotune.core.pages import zones
from tests.charts.drawings import drawings, titles, words

BERLIN, KATHMANDU, SANTIAGO = "Europe/Berlin", "Asia/Kathmandu", "America/Santiago"
AUTUMN = datetime(2026, 10, 25, tzinfo=UTC)  # at 01:00 UTC, Berlin's clocks go from 03:00 back to 02:00
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def zone():
    """`zone(name)`: make it the zone of the pages."""
    yield lambda name: timezone.activate(zones.of(name))
    timezone.deactivate()


def test_times_are_local_and_name_their_zone(zone):
    zone(BERLIN)
    assert moment(datetime(2026, 11, 28, 23, 30, tzinfo=UTC)) == "2026-11-29 00:30"
    assert named_moment(datetime(2026, 7, 1, 12, tzinfo=UTC)) == "2026-07-01 14:00 CEST"
    zone(KATHMANDU)
    assert named_moment(datetime(2026, 7, 1, 12, tzinfo=UTC)) == "2026-07-01 17:45 UTC+0545"


def test_a_drawing_its_table_and_its_summary_name_the_same_zone(zone):
    zone(BERLIN)
    points = [(AUTUMN + 12 * HOUR + n * HOUR, n / 10) for n in range(8)]
    for chart in (
        lines("Reward", [Series("reward", points)], since=points[0][0], until=points[-1][0]),
        columns("Scored", [(time, (value,)) for time, value in points], ("Scored",)),
    ):
        assert chart.table.headers[0] == "Time (Europe/Berlin)"
        assert chart.table.rows[0][0] == "2026-10-25 13:00"
        assert "CET" in chart.summary
        for svg in drawings(chart):
            assert "Europe/Berlin" in words(svg, "chart-faint")
            assert not any("UTC" in title for title in titles(svg))


def test_days_begin_at_local_midnight_on_both_sides_of_a_clock_change(zone):
    zone(BERLIN)
    ticks = time_ticks(AUTUMN - 3 * DAY, AUTUMN + 3 * DAY, 6)
    assert [moment(tick) for tick in ticks] == [f"2026-10-{day} 00:00" for day in range(23, 29)]
    assert {later - earlier for earlier, later in pairwise(ticks)} == {DAY, DAY + HOUR}
    assert time_labels(ticks) == ["23 Oct", "24 Oct", "25 Oct", "26 Oct", "27 Oct", "28 Oct"]


def test_hours_are_round_local_hours_on_both_sides_of_a_clock_change(zone):
    zone(BERLIN)
    ticks = time_ticks(AUTUMN - 12 * HOUR, AUTUMN + 12 * HOUR, 8)
    assert time_labels(ticks) == ["15:00", "18:00", "21:00", "25 Oct", "03:00", "06:00", "09:00", "12:00"]


def test_quarter_hours_are_round_where_the_offset_has_45_minutes(zone):
    zone(KATHMANDU)
    ticks = time_ticks(AUTUMN, AUTUMN + HOUR, 4)
    assert time_labels(ticks) == ["05:45", "06:00", "06:15", "06:30", "06:45"]


def test_a_midnight_that_does_not_exist_is_the_first_moment_of_its_day(zone):
    zone(SANTIAGO)  # clocks go from 24:00 to 01:00
    ticks = time_ticks(datetime(2026, 9, 4, 12, tzinfo=UTC), datetime(2026, 9, 8, 12, tzinfo=UTC), 4)
    assert time_labels(ticks) == ["5 Sep", "6 Sep", "7 Sep", "8 Sep"]
    assert moment(ticks[1]) == "2026-09-06 01:00"


def test_an_hour_that_repeats_has_two_names_in_the_table(zone):
    zone(BERLIN)
    assert moments([AUTUMN, AUTUMN + HOUR]) == ["2026-10-25 02:00 CEST", "2026-10-25 02:00 CET"]
    assert moments([AUTUMN + HOUR]) == ["2026-10-25 02:00"]


def test_the_first_label_of_a_new_year_has_the_year():
    ticks = time_ticks(datetime(2026, 12, 30, tzinfo=UTC), datetime(2027, 1, 2, tzinfo=UTC), 4)
    assert time_labels(ticks) == ["30 Dec", "31 Dec", "1 Jan 2027", "2 Jan"]


def test_a_zone_that_no_longer_exists_is_utc(zone):
    for name in ("Mars/Olympus", "", "../../etc/passwd", "posix/Europe/Berlin", "x" * 500):
        assert zones.of(name) == UTC
    zone("Mars/Olympus")
    assert (zones.active(), named_moment(AUTUMN)) == ("UTC", "2026-10-25 00:00 UTC")


def test_every_zone_that_can_be_chosen_can_be_drawn(zone):
    for name in sorted(zones.names()):
        zone(name)
        assert 2 <= len(time_labels(time_ticks(AUTUMN, AUTUMN + DAY, 6))) <= 8, name
        assert len(name) <= zones.LONGEST
