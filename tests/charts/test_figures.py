"""What holds for every chart: names, tables, labels from attackers, and nothing that the strict CSP forbids."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from autotune.charts import Bar, Interval, Series, bars, columns, distributions, histogram, intervals, lines, sparkline
from autotune.charts.svg import cut, isolated
from tests.charts.drawings import HOSTILE, Page, drawings, titles, words

SINCE = datetime(2026, 11, 21, tzinfo=UTC)
UNTIL = SINCE + timedelta(days=1)
KINDS = {
    "lines": lambda name: lines(name, [Series(name, [(SINCE, 1.0), (UNTIL, 2.0)]), Series("b", [(SINCE, 3.0)])], since=SINCE, until=UNTIL, unit=name[:9]),
    "columns": lambda name: columns(name, [(SINCE, (1, 2))], (name, "b")),
    "histogram": lambda name: histogram(name, [1, 2], links=["?a=1&b=2", "?b"], brush="score", noun="scores"),
    "bars": lambda name: bars(name, [Bar(name, 1, note=name, href="/x?a=1&b=2"), Bar("b", 2)]),
    "intervals": lambda name: intervals(name, [Interval(name, 0.5, 0.4, 0.6, 3), Interval("b", 0.7, 0.6, 0.8, 3)]),
    "distributions": lambda name: distributions(name, [(name, [1, 2]), ("b", [2, 1])]),
}  # fmt: skip
LABELLED = [kind for kind in KINDS if kind != "histogram"]  # the others have labels of unknown origin
every_kind = pytest.mark.parametrize("kind", KINDS)
any_name = pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))


def page_of(*charts):
    return Template("{% load charts %}{% for one in charts %}{% chart one %}{% endfor %}").render(
        Context({"charts": charts})
    )


@every_kind
def test_a_chart_has_a_name_a_description_and_a_table(kind):
    chart = KINDS[kind]("Rewards")
    page = Page(page_of(chart))
    tags = [tag for tag, _ in page.tags]
    assert (tags.count("figure"), tags.count("figcaption"), tags.count("table")) == (1, 1, 1)
    for svg in drawings(chart):
        assert svg.get("role") in ("img", "group")
        assert svg.find(f"title[@id='{svg.get('aria-labelledby')}']").text == "Rewards"
        assert svg.find(f"desc[@id='{svg.get('aria-describedby')}']").text == chart.summary
    assert page.cells == [*chart.table.headers, *(cell for row in chart.table.rows for cell in row)]
    assert set(page.all("scope")) == {"col", "row"}


@every_kind
def test_ids_are_unique_though_the_same_chart_is_drawn_twice(kind):
    ids = Page(page_of(KINDS[kind]("a"), KINDS[kind]("a"))).all("id")
    assert len(ids) == len(set(ids)) > 0


@every_kind
@any_name
def test_a_hostile_name_is_text_and_nothing_else(kind, name):
    harmless, hostile = Page(page_of(KINDS[kind]("ab"))), Page(page_of(KINDS[kind](name)))
    assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in harmless.tags} | {"title"}
    assert {key for _, attrs in hostile.tags for key in attrs} == {key for _, attrs in harmless.tags for key in attrs}
    assert drawings(KINDS[kind](name))  # well formed


@pytest.mark.parametrize("kind", LABELLED)
@any_name
def test_a_hostile_label_is_whole_in_the_table(kind, name):
    html = page_of(KINDS[kind](name))
    assert name in Page(html).cells
    assert html.count("<bdi>") == html.count("</bdi>") > 0


@pytest.mark.parametrize("kind", LABELLED)
def test_a_long_label_is_cut_in_the_drawing_and_whole_in_its_title(kind):
    name = "model " + "x" * 10_000
    for svg in drawings(KINDS[kind](name)):
        assert all(len(text) < 100 for text in words(svg))
    if kind != "columns":  # its names are in the legend
        assert name in [title for svg in drawings(KINDS[kind](name)) for title in titles(svg)[1:]]


@every_kind
def test_the_output_needs_no_inline_style_or_script(kind):
    html = page_of(KINDS[kind]("a"))
    page = Page(html)
    assert not [key for _, attrs in page.tags for key in attrs if key == "style" or key.startswith("on")]
    assert not {"style", "script"} & {tag for tag, _ in page.tags}
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb\(", re.sub(r"&#x27;", "", html)), "a colour that the tokens do not know"
    assert "style=" not in sparkline([1, 2], label="a")


@every_kind
def test_drawings_contain_only_finite_numbers(kind):
    assert not re.search(r"nan|inf\b|None", KINDS[kind]("a").svg)


def test_empty_data_is_a_sentence_without_a_table():
    page = page_of(histogram("Scores", []))
    assert "No scores in this time." in page
    assert "<table" not in page
    assert "<svg" not in page


def test_wide_charts_have_a_second_drawing():
    assert [svg.get("viewBox").split()[2] for svg in drawings(KINDS["lines"]("a"))] == ["360", "560", "960"]
    assert [svg.get("viewBox").split()[2] for svg in drawings(KINDS["bars"]("a"))] == ["360", "560"]


def test_a_label_is_never_cut_between_a_glyph_and_its_modifier():
    family = "👩\u200d👩\u200d👧"
    for room in range(20, 120, 3):
        shown = cut(family * 20, room)
        assert shown.endswith("…")
        assert not shown[:-1].endswith("\u200d")


def test_a_label_in_a_sentence_cannot_turn_what_follows():
    assert isolated("a\u2069\u202eb") == "\u2068a\ufffd\ufffdb\u2069"
    assert len(isolated("x" * 10_000)) < 50


def test_an_address_is_escaped_as_an_attribute():
    assert 'href="?a=1&amp;b=2"' in KINDS["histogram"]("a").svg
