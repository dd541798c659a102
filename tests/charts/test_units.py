"""Units by magnitude, and the same number on an axis, in a sentence and in the figures of the pages."""

from datetime import UTC, datetime, timedelta

import pytest

from autotune.charts import Series, columns, lines, spark_label
from autotune.charts.units import measure
from autotune.core.pages import formats
from tests.charts.drawings import classed, drawings, words

SINCE = datetime(2026, 11, 21, tzinfo=UTC)
DAY = timedelta(days=1)
NBSP = "\u00a0"


def drawn(*values, **more):
    points = [(SINCE + n * DAY, value) for n, value in enumerate(values)]
    return lines("Mean latency", [Series("p99", points)], since=SINCE, until=SINCE + 7 * DAY, **more)


@pytest.mark.parametrize(
    ("values", "name", "first_cell"),
    [
        ((16_100, 2_000), "Latency (s)", f"16.1{NBSP}s"), ((340, 12), "Latency (ms)", f"340{NBSP}ms"),
        ((150_000, 1), "Latency (min)", f"2.5{NBSP}min"), ((90_000_000.0, 1), "Latency (d)", f"1.04167{NBSP}d"),
        ((0, 0), "Latency (ms)", f"0{NBSP}ms"),
    ],
)  # fmt: skip
def test_the_axis_has_a_name_and_the_unit_that_fits_the_largest_value(values, name, first_cell):
    chart = drawn(*values, axis="Latency", unit="ms", low=0)
    assert chart.table.rows[0][1] == first_cell
    for svg in drawings(chart):
        assert words(svg, "chart-faint")[0] == name
        assert not any("k" in label for label in words(svg, "chart-tick"))


def test_an_axis_without_a_name_is_named_by_the_title():
    assert words(drawings(drawn(1, 2))[0], "chart-faint")[0] == "Mean latency"


@pytest.mark.parametrize("milliseconds", [1, 340, 16_100, 59_000, 4_000_000])
def test_a_sentence_writes_a_time_as_the_figures_of_the_pages_do(milliseconds):
    assert measure(milliseconds, "ms") == formats.duration(milliseconds).replace(" ", NBSP)


def test_a_sentence_writes_a_score_as_the_figures_of_the_pages_do():
    assert measure(0.58, "score") == formats.score(0.58) == "0.580"
    assert "Latest 0.580 at" in drawn(0.5, 0.58, unit="score").summary
    assert spark_label([0.5, 0.58], "score") == "From 0.500 to 0.580; lowest 0.500, highest 0.580"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-300, f"1e-300{NBSP}ms"), (1e15, f"11.6{NBSP}M{NBSP}d"), (-0.0, f"0{NBSP}ms"), (0.25, f"0.25{NBSP}ms")],
)
def test_extreme_values_are_short(value, text):
    assert measure(value, "ms") == text
    assert drawn(value, unit="ms").svg


def test_columns_have_units_too():
    chart = columns("Waits", [(SINCE + n * DAY, (30_000, 60_000 * n)) for n in range(3)], ("Short", "Long"), unit="ms")
    assert chart.table.rows[2][1:] == (f"0.5{NBSP}min", f"2{NBSP}min")
    assert words(drawings(chart)[0], "chart-faint")[0] == "Waits (min)"


def test_only_the_part_with_values_is_drawn_and_the_summary_says_which():
    month = [(SINCE + n * DAY, 0.5 if n >= 28 else None) for n in range(30)]
    chart = lines("Mean", [Series("mean", month)], since=SINCE, until=SINCE + 30 * DAY)
    assert "Only this part has values: 2026-12-19 00:00 UTC to 2026-12-20 00:00 UTC." in chart.summary
    svg = drawings(chart)[-1]
    covered = float(svg.get("data-until")) - float(svg.get("data-since"))
    assert covered <= 7 * DAY.total_seconds()


def test_two_days_of_columns_in_a_month_are_broad_enough_to_see():
    stacks = [(SINCE + n * DAY, (7, 1) if 10 <= n < 12 else (0, 0)) for n in range(30)]
    chart = columns("Scored", stacks, ("Scored", "Failed"), since=SINCE, until=SINCE + 30 * DAY)
    widths = [float(bar.get("width")) for bar in classed(drawings(chart)[-1], "chart-fill")]
    assert min(widths) > 100
    assert "2026-12-01 00:00 UTC to 2026-12-03 00:00 UTC" in chart.summary


def test_a_chart_that_is_half_full_shows_all_of_its_time():
    chart = drawn(1, 2, 3, 4, 5)
    assert "Only this part" not in chart.summary


def test_a_failure_among_thousands_and_a_column_among_hundreds_are_visible():
    stacks = [(SINCE + n * timedelta(hours=1), (100_000, 1)) for n in range(390)]
    for svg in drawings(columns("Scored", stacks, ("Scored", "Failed"))):
        bars = classed(svg, "chart-fill")
        assert min(float(bar.get("height")) for bar in bars) >= 1.5
        assert min(float(bar.get("width")) for bar in bars) >= 2
