"""Histograms, bars, intervals, distributions, sparklines."""

import re
from xml.etree import ElementTree

import pytest

from autotune.charts import (
    Bar,
    Interval,
    Quartiles,
    bars,
    distributions,
    histogram,
    intervals,
    spark_label,
    sparkline,
    strip,
)
from tests.charts.drawings import classed, drawings, titles, words

COUNTS = [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]


def links():
    return [f"?min={n / 10}&max={(n + 1) / 10}" for n in range(10)]


def test_a_bucket_is_as_high_as_its_count():
    for svg in drawings(histogram("Scores", COUNTS)):
        heights = [float(bar.get("height")) for bar in classed(svg, "chart-bar")]
        assert heights == pytest.approx([heights[0] * n for n in COUNTS if n], abs=0.5)


def test_one_score_among_a_million_is_still_seen():
    svg = drawings(histogram("Scores", [1, 1_000_000]))[0]
    assert float(classed(svg, "chart-bar")[0].get("height")) >= 1


def test_the_summary_of_a_histogram_is_its_middle():
    chart = histogram("Scores", [0, 600, 604, 0])
    assert chart.summary == "Median 0.5 to 0.75; at least 80\u00a0% between 0.25 and 0.75; 1,204 scores."
    assert drawings(chart)[0].get("role") == "img"


def test_a_histogram_with_exact_quartiles_writes_them_as_the_figures_of_the_pages():
    exact = Quartiles(0.4, 0.58, 0.9)
    assert histogram("Scores", [0, 600, 604, 0], quartiles=exact).summary == (
        "Median 0.580; half between 0.400 and 0.900; 1,204 scores."
    )
    assert histogram("Scores", [0, 600, 604, 0], quartiles=exact, chosen=(0.3, 1)).summary == (
        "Median of the chosen 0.580; half between 0.400 and 0.900; 1,204 scores in all. Chosen: 0.3 to 1."
    )


@pytest.mark.parametrize(
    ("counts", "median"),
    [
        ([1, 0, 0, 0], "0 to 0.25"), ([1, 0, 0, 1], "0 to 1"), ([0, 0, 0, 3], "0.75 to 1"), ([2, 0, 1, 0], "0 to 0.25"),
        ([10**15, 0, 0, 1], "0 to 0.25"),
    ],
)  # fmt: skip
def test_without_exact_quartiles_the_median_is_the_bucket_that_holds_it(counts, median):
    assert histogram("Scores", counts).summary.startswith(f"Median {median};")


def test_models_keep_their_colours_in_rows():
    ridges = distributions("By model", [("a", [1, 2]), ("b", [2, 1])], slots=[4, 7])
    means = intervals("Means", [Interval("a", 0.5, 0.4, 0.6, 3, slot=4), Interval("b", 0.5, 0.4, 0.6, 3, slot=7)])
    for ridge, mean in zip(drawings(ridges), drawings(means), strict=True):
        colours = [["chart-series-5"], ["chart-series-2", "chart-pattern-1"]]
        assert [path.get("class").split()[1:] for path in classed(ridge, "chart-ridge")] == colours
        assert [dot.get("class").split()[1:] for dot in classed(mean, "chart-dot")] == colours


def test_the_medians_of_models_are_the_exact_ones():
    rows = [("a", [1, 2]), ("b", [2, 1])]
    chart = distributions("By model", rows, quartiles=[Quartiles(0.4, 0.58, 0.6), Quartiles(0.1, 0.2, 0.3)])
    assert chart.summary.startswith("6 scores; highest median: \u2068a\u2069 0.580; lowest: \u2068b\u2069 0.200.")
    assert chart.table.rows[0][2:4] == ("0.580", "half between 0.400 and 0.600")
    assert "Chosen: 0.25 to 0.5." in histogram("Scores", [1, 2, 3, 4], chosen=(0.25, 0.5)).summary


def test_the_table_of_a_histogram_has_its_edges_and_counts():
    chart = histogram("Scores", [1, 12_345])
    assert (chart.table.headers, chart.table.rows) == (
        ("From", "To", "Scores"),
        [("0", "0.5", "1"), ("0.5", "1", "12,345")],
    )


def test_each_bucket_links_to_its_filter_without_javascript():
    svg = drawings(histogram("Scores", COUNTS, links=links()))[0]
    assert [a.get("href") for a in svg.iter("a")] == links()
    assert svg.get("role") == "group"  # the links of an image could not be reached
    assert drawings(histogram("Scores", COUNTS))[0].get("role") == "img"


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", ""]
)
def test_a_chart_has_no_other_links(href):
    with pytest.raises(ValueError):
        histogram("Scores", [1], links=[href or "data:,"])
    with pytest.raises(ValueError):
        bars("Errors", [Bar("x", 1, href=href or "data:,")])
    with pytest.raises(ValueError):
        intervals("Models", [Interval("x", 0.5, 0.4, 0.6, 1, href=href or "data:,")])


def test_buckets_outside_the_range_are_faint():
    svg = drawings(histogram("Scores", COUNTS, chosen=(0.3, 0.5)))[0]
    assert len(classed(svg, "chart-bar")) - len(classed(svg, "chart-outside")) == 2
    assert len(classed(svg, "chart-range")) == 1


def test_the_brush_names_its_inputs_and_the_range():
    for svg in drawings(histogram("Scores", COUNTS, brush="score", chosen=(0.3, 0.5))):
        assert (svg.get("data-brush-min"), svg.get("data-brush-max")) == ("score-min", "score-max")
        assert (svg.get("data-low"), svg.get("data-high"), svg.get("data-buckets")) == ("0.0", "1.0", "10")
        assert (svg.get("data-from"), svg.get("data-to")) == ("0.3", "0.5")


@pytest.mark.parametrize(
    ("counts", "more"),
    [([1, -1], {}), ([float("nan")], {}), ([1], {"low": 1, "high": 1}), ([1, 2], {"links": ["?"]}),
     ([1], {"chosen": (0.6, 0.4)}), ([1], {"chosen": (float("nan"), 1)}), ([1] * 101, {})],
)  # fmt: skip
def test_invalid_histograms_are_refused(counts, more):
    with pytest.raises(ValueError):
        histogram("Scores", counts, **more)


def test_no_scores_are_a_sentence():
    for chart in (
        histogram("S", []),
        histogram("S", [0] * 20),
        distributions("S", []),
        distributions("S", [("a", [0, 0])]),
    ):
        assert (chart.svg, chart.summary) == ("", "No scores in this time.")
    assert intervals("S", []).svg == bars("S", []).svg == ""


# --- bars -----------------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values_on_one_scale():
    for svg in drawings(bars("Errors", [Bar("Timeout", 100), Bar("Refused", 50)])):
        long, half = (float(bar.get("width")) for bar in classed(svg, "chart-fill"))
        assert half == pytest.approx(long / 2, abs=0.1)


def test_a_bar_with_a_total_is_drawn_over_the_total():
    svg = drawings(bars("Dimensions", [Bar("Style", 0.4, total=1, note="weight 0.3")]))[0]
    (track,), (mark,) = classed(svg, "chart-track"), classed(svg, "chart-fill")
    assert float(mark.get("width")) == pytest.approx(0.4 * float(track.get("width")), abs=0.1)
    assert "weight 0.3" in words(svg)


def test_the_table_of_bars_has_columns_for_what_there_is():
    assert bars("E", [Bar("a", 1204)]).table.rows == [("a", "1,204")]
    chart = bars("D", [Bar("a", 0.5, total=1, note="weight 1"), Bar("b", 2)], unit="ms")
    assert chart.table.headers == ("Name", "Value (ms)", "Of", "Note")
    assert chart.table.rows == [("a", "0.5", "1", "weight 1"), ("b", "2", "–", "")]


def test_bars_of_zero_are_drawn_without_ink():
    svg = drawings(bars("E", [Bar("a", 0), Bar("b", 0)]))[0]
    assert [bar.get("width") for bar in classed(svg, "chart-fill")] == ["0", "0"]


def test_an_unknown_tone_and_a_negative_value_are_refused():
    for bar in (Bar("a", -1), Bar("a", float("inf")), Bar("a", 1, tone="red"), Bar("a", 1, total=float("nan"))):
        with pytest.raises(ValueError):
            bars("E", [bar])


# --- intervals and distributions ------------------------------------------------------------------------------------


def test_a_mean_lies_within_its_whisker():
    for svg in drawings(intervals("Models", [Interval("a", 0.5, 0.2, 0.9, 10)])):
        left, right = (
            float(x)
            for x in re.fullmatch(r"M([\d.]+) .*H([\d.]+)M.*", classed(svg, "chart-whisker")[0].get("d")).groups()
        )
        middle = float(classed(svg, "chart-dot")[0].get("cx"))
        assert (middle - left) / (right - left) == pytest.approx(3 / 7, abs=0.01)


def test_the_axis_is_whole_unless_all_values_are_close_which_the_chart_states():
    whole = intervals("Models", [Interval("a", 0.5, 0.2, 0.9, 10)])
    assert words(drawings(whole)[0], "chart-tick") == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert "axis" not in whole.summary
    part = intervals("Models", [Interval("a", 0.7, 0.65, 0.75, 10), Interval("b", 0.72, 0.7, 0.78, 10)])
    assert part.summary.endswith("The axis shows 0.65 to 0.8 only.")


def test_a_mean_outside_its_interval_is_refused():
    with pytest.raises(ValueError, match="outside"):
        intervals("Models", [Interval("a", 0.9, 0.2, 0.5, 1)])


def test_the_table_of_intervals_holds_the_same_figures():
    assert intervals("M", [Interval("a", 0.5, 0.25, 0.75, 1204)]).table.rows == [("a", "0.5", "0.25", "0.75", "1,204")]


def test_an_interval_of_zero_width_is_drawn():
    assert drawings(intervals("M", [Interval("a", 1, 1, 1, 1)]))[0] is not None
    assert drawings(intervals("M", [Interval("a", 0, 0, 0, 1)]))[0] is not None


def test_each_ridge_has_the_height_of_its_own_peak():
    svg = drawings(distributions("By model", [("a", [1, 2]), ("b", [1000, 2000]), ("c", [0, 0])]))[1]
    rises = []
    for ridge in classed(svg, "chart-ridge"):
        heights = [float(y) for y in re.findall(r"V([\d.]+)", ridge.get("d"))]
        rises.append(max(heights) - min(heights))
    assert rises == pytest.approx([rises[0]] * 2, abs=0.2)


def test_the_table_of_distributions_holds_the_counts():
    rows = distributions("By model", [("a", [0, 10]), ("b", [0, 0])]).table.rows
    assert rows == [
        ("a", "10", "0.5 to 1", "at least 80\u00a0% between 0.5 and 1", "0 10"),
        ("b", "0", "–", "–", "0 0"),
    ]


# --- sparklines -----------------------------------------------------------------------------------------------------


def test_a_sparkline_says_first_last_lowest_and_highest():
    values = [0.5, None, 0.9, 0.4, 0.72]
    label = spark_label(values, "s")
    assert label.replace("\u00a0", " ") == "From 0.5 s to 0.72 s; lowest 0.4 s, highest 0.9 s"
    svg = ElementTree.fromstring(sparkline(values, label=label))
    assert (svg.get("width"), svg.get("height"), svg.get("role"), svg.get("aria-label")) == ("96", "24", "img", label)
    assert classed(svg, "chart-line")[0].get("d").count("M") == 2


@pytest.mark.parametrize("values", [[], [None], [1], [0, 0], [5, 5, 5], [None, 3, None], list(range(10_000))])
def test_any_values_have_a_sparkline(values):
    drawn = sparkline(values, label=spark_label(values))
    assert len(drawn) < 4000
    assert ElementTree.fromstring(drawn).get("aria-label")


def test_a_sparkline_refuses_what_is_no_number():
    with pytest.raises(ValueError):
        sparkline([1, float("nan")], label="x")


def test_a_thinned_sparkline_keeps_its_spike():
    values = [0.0] * 10_000
    values[5000] = 1.0
    path = classed(ElementTree.fromstring(sparkline(values, label="x")), "chart-line")[0].get("d")
    assert {"3", "21"} == {point.split()[1] for point in re.split("[ML]", path)[1:]}


def test_titles_describe_the_element_under_the_pointer():
    assert "0.5 to 1: 3 scores" in titles(drawings(histogram("S", [1, 3]))[0])


def test_a_strip_has_a_bar_for_each_outcome_and_a_failed_one_is_taller():
    svg = ElementTree.fromstring(strip([True, False, True], label="The last 3 looks: 1 failed."))
    bars_ = list(svg)
    assert (svg.get("role"), svg.get("aria-label")) == ("img", "The last 3 looks: 1 failed.")
    assert [float(bar.get("height")) for bar in bars_] == [10, 16, 10]
    assert ["chart-tone-bad" in bar.get("class") for bar in bars_] == [False, True, False]
    assert [float(bar.get("x")) for bar in bars_] == sorted(float(bar.get("x")) for bar in bars_)
