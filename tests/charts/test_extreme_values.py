"""Charts of any valid numbers: all equal, one, none, 0 and 1 only, a range of nothing, numbers next to 0."""

from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from autotune import charts
from autotune.charts.scales import nice_ticks

LEAST = 5e-324
VALUES = st.one_of(st.floats(0, 1, allow_subnormal=True), st.sampled_from([0.0, LEAST, 1e-310, 1e-200, 1e-9, 0.5, 1.0]))
LISTS = st.lists(VALUES, min_size=1, max_size=12)
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def is_drawn(chart):
    for text in (str(chart.svg), chart.summary):
        assert "nan" not in text.lower().replace("financ", "")
        assert "inf" not in text.lower()


@settings(deadline=None)
@given(LISTS)
@example([LEAST])
@example([0.0, LEAST])
@example([LEAST, LEAST, 1e-310])
@example([0.0])
@example([0.0, 0.0, 0.0])
@example([1.0, 1.0])
@example([0.0, 1.0])
def test_c1_charts_take_any_valid_numbers(values):
    points = [(BEGIN + timedelta(hours=number), value) for number, value in enumerate(values)]
    until = BEGIN + timedelta(days=1)
    for fixed in ({}, {"low": 0, "high": 1}):
        is_drawn(charts.lines("Means", [charts.Series("a", points)], since=BEGIN, until=until, **fixed))
    low, high = min(values), max(values)
    rows = [charts.Interval(f"m{n}", value, low, high, n + 1) for n, value in enumerate(values)]
    is_drawn(charts.intervals("Means", rows))
    is_drawn(charts.bars("Bars", [charts.Bar("a", value, total=1.0) for value in values]))
    is_drawn(charts.bars("Bars", [charts.Bar("a", value) for value in values]))
    is_drawn(charts.columns("Columns", [(moment, (value, value)) for moment, value in points], ("a", "b")))
    assert "<svg" in charts.sparkline(values, label="a")
    assert charts.spark_label(values)


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
@example([0, 0, 0])
@example([1])
@example([0, 10**9])
def test_c1_charts_of_counts_take_any_counts(counts):
    if sum(counts):
        is_drawn(charts.distributions("Spread", [("a", counts), ("b", [1] * len(counts))]))
    is_drawn(charts.histogram("Scores", counts))


@given(VALUES, VALUES)
@example(0.0, LEAST)
@example(LEAST, LEAST)
@example(0.0, 0.0)
def test_c1_ticks_span_their_values(first, second):
    low, high = min(first, second), max(first, second)
    ticks = nice_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert ticks[0] <= low + 1e-9 * high
    assert ticks[-1] >= high * (1 - 1e-9)
