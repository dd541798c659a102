"""The crosshair of charts over time, in headless Chromium, under the product's own Content-Security-Policy."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import HttpResponse
from django.template import Context, Template
from django.test import override_settings
from django.urls import path
from playwright.sync_api import sync_playwright

from autotune.charts import Series, columns, lines
from tests.support.browsing import DESK, PHONE, launched, too_wide, violations, watch

PAGE = """{% load charts static %}<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width">
<title>Charts</title><link rel="icon" href="data:,"><link rel="stylesheet" href="{% static 'css/tokens.css' %}"><link rel="stylesheet" href="{% static 'css/charts.css' %}">
<script type="module" src="{% static 'js/crosshair.js' %}"></script></head><body><main><h1>Charts</h1>
{% chart latency %}{% chart work %}</main></body></html>"""
SINCE = datetime(2026, 11, 21, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTILE = "<img src=x onerror=\"document.title='owned'\">" + "W" * 160


def charts(request):
    times = [SINCE + n * HOUR for n in range(24)]
    latency = lines(
        "Latency", [
            Series("p50", [(time, 1000.0 + n) for n, time in enumerate(times)]),
            Series(HOSTILE, [(time, None if n == 1 else 16_100.0) for n, time in enumerate(times)], 7),
        ],
        since=times[0], until=times[-1], axis="Latency", unit="ms", low=0,
    )  # fmt: skip
    stacks = [(time, (1200 + n, n)) for n, time in enumerate(times)]
    work = columns("Work", stacks, ("Scored", "Failed"), tones=("good", "bad"), axis="Calls")
    return HttpResponse(Template(PAGE).render(Context({"latency": latency, "work": work})))


urlpatterns = [path("charts", charts)]
pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


@pytest.fixture
def visit(live_server, chromium_path):
    """`visit(size)`: the page of charts; `.console_errors` has errors and breaches of the policy."""
    with override_settings(ROOT_URLCONF=__name__), sync_playwright() as playwright:
        browser = launched(playwright, chromium_path)

        def open_page(size=DESK, **more):
            page = watch(browser.new_context(viewport=size, **more).new_page())
            page.goto(f"{live_server.url}/charts", wait_until="networkidle")
            return page

        yield open_page
        browser.close()


def values(page, chart=0):
    """The lines of text beside the crosshair of a chart; none without one."""
    box = page.locator(".chart-plot").nth(chart).locator(".chart-values")
    return box.inner_text().split("\n") if box.is_visible() else []


def screen_of(page, share, chart=0):
    """Where on the screen a share of a chart's time lies, in the middle of its height."""
    return page.evaluate(
        """([share, chart]) => {
          const plot = document.querySelectorAll(".chart-plot")[chart];
          const svg = [...plot.querySelectorAll("svg")].find((drawing) => drawing.getClientRects().length);
          const { left, right, top, bottom } = svg.dataset;
          const x = Number(left) + share * (right - left), y = (Number(top) + Number(bottom)) / 2;
          const place = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [place.x, place.y];
        }""",
        [share, chart],
    )


def test_the_pointer_reads_the_values_of_the_nearest_moment(visit):
    page = visit()
    page.mouse.move(*screen_of(page, 10.3 / 23))
    assert values(page)[0] == "2026-11-21 10:00"
    assert [text.replace("\u00a0", " ") for text in values(page)[1:]] == ["p50", "1.01 s", HOSTILE, "16.1 s"]
    dots = page.locator("svg:visible .chart-dot[r='4.5']")
    assert dots.count() == 2
    assert dots.nth(1).get_attribute("class") == "chart-dot chart-series-2 chart-pattern-1"
    page.mouse.move(*screen_of(page, 0.04))
    assert values(page)[4] == "–"
    page.mouse.move(0, 0)
    assert values(page) == []
    page.mouse.move(*screen_of(page, 23.4 / 24, chart=1))
    assert values(page, 1) == ["2026-11-21 23:00", "Scored", "1,223", "Failed", "23"]
    assert (page.title(), page.console_errors) == ("Charts", [])


def test_the_arrow_keys_move_it_and_a_screen_reader_hears_the_values(visit):
    page = visit()
    page.keyboard.press("Tab")
    reader = page.get_by_role("slider", name="Latency: moment")
    assert values(page)[0] == "2026-11-21 23:00"
    for key, hour in (
        ("ArrowLeft", 22), ("PageUp", 23), ("Home", 0), ("ArrowLeft", 0), ("PageDown", 0), ("ArrowRight", 1), ("End", 23),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert values(page)[0] == f"2026-11-21 {hour:02}:00", key
    assert (
        reader.get_attribute("aria-valuetext").replace("\u00a0", " ").startswith("2026-11-21 23:00: p50 1.023 s; <img")
    )
    page.keyboard.press("Escape")
    assert values(page) == []
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert values(page) == []


def test_a_finger_reads_and_the_values_stay_within_the_screen(visit):
    page = visit(size=PHONE, has_touch=True, is_mobile=True)
    for share, hour in ((0.02, 0), (0.5, 12), (0.98, 23)):
        page.touchscreen.tap(*screen_of(page, share))
        assert values(page)[0] in (f"2026-11-21 {hour:02}:00", f"2026-11-21 {hour - 1:02}:00")
        box = page.locator(".chart-values").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
    assert page.locator(".chart-reader").first.evaluate("it => getComputedStyle(it).touchAction") == "pan-y"
    assert too_wide(page) <= 0
    assert list(violations(page)) == []


def test_wiring_twice_is_safe_and_without_scripts_there_is_the_table(visit):
    page = visit()
    page.evaluate("import('/static/js/crosshair.js').then((crosshair) => crosshair.attach())")
    assert page.get_by_role("slider").count() == 2
    assert list(violations(page)) == []
    still = visit(java_script_enabled=False)
    assert still.get_by_role("slider").count() == 0
    still.locator("summary").first.click()
    assert still.locator("td", has_text="16.1").first.is_visible()
