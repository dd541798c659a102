"""Ticks that a person would choose, and numbers as they are written."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from autotune.charts.scales import (
    AxisScale,
    alike,
    exact,
    inner_ticks,
    nice_ticks,
    quantile,
    short,
    tick_labels,
)
from autotune.charts.times import moment, time_labels, time_ticks

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.25, 0.5, 0.75, 1]), (0.1, 0.93, [0, 0.25, 0.5, 0.75, 1]), (0, 7, [0, 2, 4, 6, 8]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]), (0, 4_200_000, [0, 2_000_000, 4_000_000, 6_000_000]),
        (0.0001, 0.0004, [0.0001, 0.0002, 0.0003, 0.0004]), (0, 0, [0, 0.25, 0.5, 0.75, 1]),
    ],
)  # fmt: skip
def test_ticks_are_round_and_hold_all_values(low, high, ticks):
    assert nice_ticks(low, high, 4) == pytest.approx(ticks)


def test_equal_values_have_room_on_both_sides():
    ticks = nice_ticks(0.7, 0.7, 4)
    assert ticks[0] < 0.7 < ticks[-1]


def test_between_two_counts_there_is_no_tick():
    assert nice_ticks(0, 2, 4, whole=True) == [0, 1, 2]


def test_an_axis_with_fixed_ends_has_no_tick_outside():
    assert inner_ticks(0.05, 0.95, 5) == pytest.approx([0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        (timedelta(seconds=50), ["12:00:00", "12:00:15", "12:00:30", "12:00:45"]),
        (timedelta(hours=1), ["12:00", "12:15", "12:30", "12:45", "13:00"]),
        (timedelta(hours=24), ["12:00", "18:00", "29 Nov", "06:00", "12:00"]),
        (timedelta(days=7), ["29 Nov", "1 Dec", "3 Dec", "5 Dec"]),
        (timedelta(days=40), ["7 Dec", "21 Dec", "4 Jan 2027"]),
        (timedelta(days=365), ["Jan 2027", "Apr 2027", "Jul 2027", "Oct 2027"]),
        (timedelta(days=3650), ["2030", "2035"]),
    ],
)
def test_times_are_round_and_labelled_as_briefly_as_possible(span, labels):
    ticks = time_ticks(NOON, NOON + span, 4)
    assert time_labels(ticks) == labels
    assert all(NOON <= tick <= NOON + span for tick in ticks)


def test_any_time_has_few_ticks():
    for exponent in range(1, 40):
        assert len(time_ticks(NOON, NOON + timedelta(seconds=1.7**exponent), 6)) <= 8


def test_moments_are_written_in_utc():
    assert moment(datetime(2026, 11, 28, 1, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-27 23:00"


@pytest.mark.parametrize(
    ("value", "drawn", "in_table"),
    [
        (0, "0", "0"), (0.72, "0.72", "0.72"), (1 / 3, "0.333", "0.333333"), (0.0003, "0.0003", "0.0003"),
        (1204, "1,204", "1,204"), (12_345, "12.3\u00a0k", "12,345"), (1_234_567, "1.2\u00a0M", "1,234,567"),
        (999_960, "1\u00a0M", "999,960"), (123_456_789, "123\u00a0M", "123,456,789"), (-0.5, "-0.5", "-0.5"),
        (3e-9, "3e-09", "3e-09"),
    ],
)  # fmt: skip
def test_a_number_is_short_in_a_drawing_and_exact_in_a_table(value, drawn, in_table):
    assert (short(value), exact(value)) == (drawn, in_table)


def test_numbers_below_each_other_have_the_same_decimals():
    assert alike([0.7, 0.745, 0]) == ["0.700", "0.745", "0.000"]
    assert alike([1204, 3.5]) == ["1,204", "3.5"]


def test_labels_of_ticks_have_the_same_decimals_and_magnitude():
    assert tick_labels([0, 0.25, 0.5]) == ["0.00", "0.25", "0.50"]
    assert tick_labels([0, 500_000, 1_000_000]) == ["0", "0.5\u00a0M", "1\u00a0M"]


def test_a_scale_is_linear_and_accepts_a_single_value():
    assert AxisScale(0, 10, 100, 0)(2.5) == 75
    assert AxisScale(3, 3, 0, 100)(3) == 50


def test_a_quantile_lies_within_its_bucket():
    assert quantile([0, 10, 0], 0, 3, 0.5) == 1.5
    assert quantile([1, 0, 1], 0, 3, 1) == 3
