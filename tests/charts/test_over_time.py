"""Lines and columns over time: gaps, spikes, sums."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from autotune.charts import Series, columns, lines
from tests.charts.drawings import classed, drawings, titles, words

SINCE = datetime(2026, 11, 21, tzinfo=UTC)
UNTIL = SINCE + timedelta(days=7)
HOUR = timedelta(hours=1)


def hourly(*values):
    return [(SINCE + place * HOUR, value) for place, value in enumerate(values)]


def drawn(*series, **more):
    return lines(
        "Reward", [Series(f"s{n}", points) for n, points in enumerate(series)], since=SINCE, until=UNTIL, **more
    )


def paths(svg):
    return [path.get("d") for path in classed(svg, "chart-line")]


def test_a_gap_is_a_gap_and_not_a_zero():
    for svg in drawings(drawn(hourly(0.5, 0.6, None, 0.7, 0.8))):
        assert paths(svg)[0].count("M") == 2


def test_a_single_point_between_gaps_is_a_dot():
    svg = drawings(drawn(hourly(0.5, 0.6, None, 0.7, None, 0.8, 0.9)))[0]
    assert len(classed(svg, "chart-dot")) == 1


def test_a_single_point_is_a_dot():
    svg = drawings(drawn(hourly(0.5)))[0]
    assert (len(classed(svg, "chart-dot")), paths(svg)) == (1, [])


def test_a_line_rises_with_its_values_and_stays_in_the_drawing():
    for svg in drawings(drawn(hourly(0, 0.5, 1))):
        _, _, width, height = map(float, svg.get("viewBox").split())
        points = [tuple(map(float, pair.split())) for pair in paths(svg)[0][1:].split("L")]
        assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)


def test_without_any_value_a_sentence_replaces_the_drawing():
    for points in ([], hourly(None, None)):
        chart = drawn(points, empty="No scores in this time.")
        assert (chart.svg, chart.summary, chart.table.rows) == ("", "No scores in this time.", [])
    assert drawn().svg == ""


@pytest.mark.parametrize("values", [(0.7, 0.7), (0, 0), (-1, 1), (1e-9, 2e-9), (1e12, 2e12)])
def test_equal_zero_negative_tiny_and_huge_values_are_drawn(values):
    assert len(paths(drawings(drawn(hourly(*values)))[0])) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError):
        drawn(hourly(0.5, value))
    with pytest.raises(ValueError):
        columns("Throughput", [(SINCE, (value,))], ("Scored",))


def test_a_moment_without_a_timezone_is_refused():
    with pytest.raises(ValueError, match="timezone"):
        drawn([(datetime(2026, 11, 22), 0.5)])  # noqa: DTZ001
    with pytest.raises(ValueError, match="timezone"):
        columns("Throughput", [(datetime(2026, 11, 22), (1,))], ("Scored",))  # noqa: DTZ001


def test_a_seventh_series_is_refused():
    with pytest.raises(ValueError, match="can be distinguished"):
        drawn(*[hourly(1)] * 7)


def test_the_table_has_the_same_figures_and_marks_gaps():
    chart = drawn(hourly(0.5, None), hourly(1, 1_234_567))
    assert chart.table.headers == ("Time (UTC)", "s0", "s1")
    assert chart.table.rows == [("2026-11-21 00:00", "0.5", "1"), ("2026-11-21 01:00", "–", "1,234,567")]


def test_points_outside_the_time_are_left_out_and_any_order_is_right():
    chart = drawn([*reversed(hourly(0.1, 0.2)), (UNTIL + HOUR, 9.0)])
    assert [row[1] for row in chart.table.rows] == ["0.1", "0.2"]


def test_ten_thousand_points_are_thinned_without_losing_a_spike():
    step = (UNTIL - SINCE) / 10_000
    values = [0.5] * 10_000
    values[4321], values[8765] = 99.0, -7.0
    chart = drawn([(SINCE + place * step, value) for place, value in enumerate(values)])
    assert len(chart.table.rows) <= 400
    assert {"99", "-7"} <= {row[1] for row in chart.table.rows}
    assert chart.table.note.startswith(f"{len(chart.table.rows)} of 10,000 points")
    assert all(path.count("L") < 400 for svg in drawings(chart) for path in paths(svg))


def test_a_long_gap_among_many_points_stays_a_gap():
    step = (UNTIL - SINCE) / 10_000
    points = [(SINCE + place * step, None if 3000 < place < 5000 else 0.5) for place in range(10_000)]
    assert paths(drawings(drawn(points))[0])[0].count("M") == 2


def test_several_lines_are_named_beside_their_ends_and_on_a_phone_in_a_legend():
    chart = drawn(hourly(0.5, 0.6), hourly(0.5, 0.6), hourly(0.5, 0.61))
    narrow, half, full = drawings(chart)
    assert [key.name for key in chart.legend] == ["s0", "s1", "s2"]
    assert (words(narrow, "chart-label"), sorted(words(full, "chart-label"))) == ([], ["s0", "s1", "s2"])
    heights = sorted(float(label.get("y")) for label in classed(half, "chart-label"))
    assert min(b - a for a, b in pairwise(heights)) >= 16


def test_the_summary_states_the_last_value_and_the_range():
    chart = drawn(hourly(0.4, 0.9, 0.72), unit="ms")
    assert chart.summary == (
        "Latest 0.72\u00a0ms at 2026-11-21 02:00 UTC; between 0.4\u00a0ms and 0.9\u00a0ms in this time."
        " Only this part has values: 2026-11-21 00:00 UTC to 2026-11-21 02:00 UTC."
    )


def test_a_point_shows_its_value_under_the_pointer():
    assert any("0.75" in title for title in titles(drawings(drawn(hourly(0.75, 0.5)))[0]))


def test_four_hundred_points_are_drawn_quickly():
    points = [(SINCE + place * (UNTIL - SINCE) / 400, place % 7 / 7) for place in range(400)]
    took = []
    for _ in range(15):
        start = time.perf_counter()
        drawn(points)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.02  # 3 ms on a quiet machine


# --- columns --------------------------------------------------------------------------------------------------------


def stacked(*stacks, **more):
    return columns(
        "Throughput", [(SINCE + n * HOUR, stack) for n, stack in enumerate(stacks)], ("Scored", "Failed"), **more
    )


def test_the_parts_of_a_column_are_stacked():
    svg = drawings(stacked((30, 10)))[0]
    scored, failed = classed(svg, "chart-fill")
    assert float(failed.get("y")) + float(failed.get("height")) == pytest.approx(float(scored.get("y")), abs=0.11)
    assert float(scored.get("height")) == pytest.approx(3 * float(failed.get("height")), abs=0.5)


def test_the_width_of_columns_matches_their_time():
    svg = drawings(stacked((1, 0), (2, 0), (3, 0)))[0]
    rects = classed(svg, "chart-fill")
    distances = {round(float(b.get("x")) - float(a.get("x")), 0) for a, b in pairwise(rects)}
    assert len(distances) == 1
    assert float(rects[0].get("width")) <= distances.pop()


def test_the_table_of_columns_and_their_summary_hold_the_same_figures():
    chart = stacked((1200, 3), (5, 0))
    assert chart.table.rows == [("2026-11-21 00:00", "1,200", "3"), ("2026-11-21 01:00", "5", "0")]
    assert "1,205" in chart.summary
    assert "most at 2026-11-21 00:00 UTC: 1,203" in chart.summary


def test_many_columns_are_merged_without_losing_counts():
    chart = stacked(*[(1, 2)] * 10_000)
    assert len(chart.table.rows) <= 400
    assert sum(int(row[1]) for row in chart.table.rows) == 10_000
    assert chart.table.note == "Each row is the sum of 25 columns."


def test_columns_of_nothing_are_a_sentence():
    assert stacked().svg == stacked((0, 0), (0, 0)).svg == ""


def test_a_negative_amount_and_a_missing_one_are_refused():
    for stack in ((-1, 0), (1,)):
        with pytest.raises(ValueError):
            stacked(stack)


def test_tones_colour_the_names():
    svg = drawings(stacked((1, 1), tones=("neutral", "bad")))[0]
    assert [e.get("class") for e in classed(svg, "chart-fill")] == [
        "chart-fill chart-tone-neutral",
        "chart-fill chart-tone-bad",
    ]
    with pytest.raises(ValueError, match="tone"):
        stacked((1, 1), tones=("neutral", "red"))
