"""The charts that the training examples draw."""

from xml.etree import ElementTree

import pytest

from examples.training.chart import HEIGHT, WIDTH, Line, smooth, svg

POINTS = [(1, 0.0), (2, 1.0), (3, 0.5)]


def test_a_smoothed_line_is_a_moving_mean():
    assert smooth(POINTS, 2) == [(1, 0.0), (2, 0.5), (3, 0.75)]
    assert smooth(POINTS, 10) == [(1, 0.0), (2, 0.5), (3, pytest.approx(0.5))]


def test_the_lines_of_a_chart_stay_inside_the_image():
    drawn = ElementTree.fromstring(svg("a < b", [Line("x & y", POINTS)], across="step", up=(0.0, 1.0)))
    line = next(element for element in drawn.iter() if element.tag.endswith("polyline"))
    places = [tuple(map(float, place.split(","))) for place in line.get("points").split()]
    assert len(places) == len(POINTS)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert places[0][1] > places[2][1] > places[1][1], "a greater value is higher"


def test_the_same_figures_give_the_same_file():
    first, second = (svg("t", [Line("l", POINTS)], across="step", up=(0.0, 1.0)) for _ in range(2))
    assert first == second
