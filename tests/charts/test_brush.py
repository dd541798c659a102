"""Drawing a range across a histogram, in headless Chromium, under the product's own Content-Security-Policy."""

import pytest
from django.http import HttpResponse
from django.template import Context, Template
from django.test import override_settings
from django.urls import path
from playwright.sync_api import sync_playwright

from autotune.charts import Bar, bars, histogram
from tests.support.browsing import DESK, PHONE, SCHEMES, launched, too_wide, watch

PAGE = """{% load charts static %}<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width">
<title>Scores</title><link rel="icon" href="data:,"><link rel="stylesheet" href="{% static 'css/tokens.css' %}"><link rel="stylesheet" href="{% static 'css/charts.css' %}">
<script type="module" src="{% static 'js/brush.js' %}"></script></head><body><main>
<form><input id="score-min" name="score-min" value="{{ low }}"><input id="score-max" name="score-max" value="{{ high }}"></form>
{% chart scores %}{% chart errors %}</main></body></html>"""


def scores(request):
    low, high = (request.GET.get(name, "") for name in ("score-min", "score-max"))
    chosen = (float(low), float(high)) if low and high else None
    links = [f"?score-min={n / 20}&score-max={(n + 1) / 20}" for n in range(20)]
    chart = histogram("Scores", [n + 1 for n in range(20)], links=links, brush="score", chosen=chosen)
    errors = bars(
        "Errors", [Bar("\u202e<script>document.title = 'owned'</script>" + "x" * 5000, 3, href="/"), Bar("b", 1)]
    )
    return HttpResponse(Template(PAGE).render(Context({"scores": chart, "errors": errors, "low": low, "high": high})))


urlpatterns = [path("scores", scores)]
pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


@pytest.fixture
def visit(live_server, chromium_path):
    """`visit(query, size, scheme)`: the page of scores; `.console_errors` has errors and breaches of the policy."""
    with override_settings(ROOT_URLCONF=__name__), sync_playwright() as playwright:
        browser = launched(playwright, chromium_path)

        def open_page(query="", size=DESK, scheme="light", **more):
            page = watch(browser.new_context(viewport=size, color_scheme=scheme, **more).new_page())
            page.goto(f"{live_server.url}/scores{query}", wait_until="networkidle")
            return page

        yield open_page
        browser.close()


def drawn(page):
    """The drawing of the scores that fits."""
    return page.locator("svg.chart-brush:visible")


def point(page, share):
    """Where on the screen a score lies, in the middle of the plot's height."""
    return page.evaluate(
        """share => {
          const svg = [...document.querySelectorAll("svg.chart-brush")].find((one) => one.getClientRects().length);
          const { left, right, top, bottom } = svg.dataset;
          const x = Number(left) + share * (right - left), y = (Number(top) + Number(bottom)) / 2;
          const place = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [place.x, place.y];
        }""",
        share,
    )


def drag(page, start, end):
    page.mouse.move(*point(page, start))
    page.mouse.down()
    page.mouse.move(*point(page, (start + end) / 2))
    page.mouse.move(*point(page, end))
    page.mouse.up()


def values(page):
    return page.locator("#score-min").input_value(), page.locator("#score-max").input_value()


def test_a_drag_submits_the_buckets_that_it_touched(visit):
    page = visit()
    with page.expect_navigation(url="**score-min=0.3&score-max=0.75"):
        drag(page, 0.32, 0.73)
    assert values(page) == ("0.3", "0.75")
    assert "Chosen: 0.3 to 0.75." in page.locator(".chart-summary").first.inner_text()
    assert page.console_errors == []


def test_a_drag_to_the_left_is_the_same_range(visit):
    page = visit()
    with page.expect_navigation(url="**score-min=0.3&score-max=0.75"):
        drag(page, 0.73, 0.32)


def test_a_click_follows_the_link_of_its_bucket(visit):
    page = visit()
    with page.expect_navigation(url="**score-min=0.5&score-max=0.55"):
        page.mouse.click(*point(page, 0.52))


def test_a_handle_moves_its_end_only(visit):
    page = visit("?score-min=0.3&score-max=0.75")
    with page.expect_navigation(url="**score-min=0.3&score-max=0.9"):
        drag(page, 0.75, 0.9)


def test_both_inputs_get_the_change(visit):
    page = visit()
    page.evaluate(
        """() => {
          window.changed = [];
          document.querySelector("form").setAttribute("hx-trigger", "change");
          document.addEventListener("change", (event) => changed.push(event.target.id));
        }"""
    )
    drag(page, 0.32, 0.73)
    assert page.evaluate("changed") == ["score-min", "score-max"]
    assert "?" not in page.url  # htmx would have sent it


def test_the_arrow_keys_move_the_ends_and_with_shift_the_range(visit):
    page = visit("?score-min=0.3&score-max=0.75")
    low, high = (drawn(page).get_by_role("slider", name=name) for name in ("Lowest", "Highest"))
    low.focus()
    page.keyboard.press("ArrowRight")
    high.focus()  # leaving a handle takes what was moved
    page.wait_for_url("**score-min=0.35&score-max=0.75")
    drawn(page).get_by_role("slider", name="Highest").focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert high.get_attribute("aria-valuenow") == "0.75"
    page.wait_for_url("**score-min=0.3&score-max=0.75")


def test_escape_restores_the_whole_range(visit):
    page = visit("?score-min=0.3&score-max=0.75")
    drawn(page).get_by_role("slider", name="Lowest").focus()
    page.keyboard.press("Escape")
    page.wait_for_url("**score-min=&score-max=")


def test_the_ends_never_meet(visit):
    page = visit("?score-min=0.3&score-max=0.35")
    low = drawn(page).get_by_role("slider", name="Lowest")
    low.focus()
    page.keyboard.press("ArrowRight")
    assert low.get_attribute("aria-valuenow") == "0.3"


def test_a_finger_draws_sideways_and_scrolls_upwards(visit):
    page = visit(size=PHONE, has_touch=True, is_mobile=True)
    assert drawn(page).evaluate("svg => getComputedStyle(svg).touchAction") == "pan-y"
    touch = page.context.new_cdp_session(page)

    def send(kind, *places):
        points = [{"x": x, "y": y} for x, y in places]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    with page.expect_navigation(url="**score-min=0.3&score-max=0.75"):
        send("touchStart", point(page, 0.32))
        for share in (0.4, 0.5, 0.6, 0.73):
            send("touchMove", point(page, share))
        send("touchEnd")


def test_wiring_twice_is_safe(visit):
    page = visit()
    page.evaluate("import('/static/js/brush.js').then((brush) => brush.attach())")
    assert drawn(page).get_by_role("slider").count() == 2


def test_without_its_inputs_a_histogram_has_no_handles(visit):
    page = visit()
    page.evaluate(
        """async () => {
          const copy = document.querySelector("svg.chart-brush").cloneNode(true);
          copy.classList.remove("chart-brush");
          copy.querySelectorAll(".chart-handle").forEach((handle) => handle.remove());
          copy.dataset.brushMin = "nowhere";
          copy.id = "copy";
          document.querySelector("main").append(copy);
          (await import("/static/js/brush.js")).attach();
        }"""
    )
    assert page.locator("#copy .chart-handle").count() == 0


def test_a_hostile_label_runs_nothing_and_breaks_no_page(visit):
    for size in (PHONE, DESK):
        for scheme in SCHEMES:
            page = visit(size=size, scheme=scheme)
            assert (page.title(), page.console_errors, page.failed_urls) == ("Scores", [], [])
            page.locator("details").last.locator("summary").click()
            assert too_wide(page) <= 0, (size, scheme)


def test_text_is_legible_on_a_phone(visit):
    page = visit(size=PHONE)
    sizes = page.locator(".chart-text:visible").evaluate_all(
        "all => all.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)"
    )
    assert len(sizes) > 5
    assert min(sizes) >= 10
