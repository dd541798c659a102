"""The explorer in a browser: the brush filters, keeps the focus, and the address follows."""

import re

import pytest
from playwright.sync_api import expect

from tests.factories import ScoreFactory, TaskFactory
from tests.support.browsing import PHONE, too_wide

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


@pytest.fixture
def reviewer(visitor):
    task = TaskFactory()
    for place in range(10):
        ScoreFactory(run__completion__task=task, value=place / 10)
    return visitor("reviewer", task.organization)


def test_keys_on_the_brush_filter_and_the_focus_stays(reviewer, browse):
    page = browse(reviewer, "/scores")
    handle = page.locator(".chart-handle:visible").first
    handle.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("minScore=0.5"))
    expect(page.locator("#count")).to_have_text("5")
    expect(page.locator("#score-min")).to_have_value("0.5")
    expect(page.locator(".chart-handle:visible").first).to_be_focused()
    assert page.console_errors == []


def test_drawing_across_the_chart_filters(reviewer, browse):
    page = browse(reviewer, "/scores")
    box = page.locator(".chart-svg:visible").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"minScore=0\.\d+&maxScore=0\.\d+"))
    expect(page.get_by_role("link", name="Clear all filters")).to_be_visible()


def test_a_filter_that_is_typed_leaves_no_empty_ones_in_the_address(reviewer, browse):
    page = browse(reviewer, "/scores")
    page.locator("#model").fill("model-z")
    page.locator("#model").press("Enter")
    expect(page.get_by_role("heading", name="No score matches")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/scores\?modelId=model-z$"))
    page.go_back()
    expect(page.locator("#count")).to_have_text("10")


@pytest.mark.parametrize("path", ["/scores", "/completions"])
def test_a_phone_scrolls_in_one_direction(reviewer, browse, path):
    assert too_wide(browse(reviewer, path, viewport=PHONE)) <= 0
