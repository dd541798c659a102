"""Five hundred reviews in one sitting, by keyboard: the last asks no more than the first, and nothing piles up in the page."""

import pytest
from playwright.sync_api import expect

from scores.models import Review, Score
from tests.factories import ReviewFactory, TaskFactory
from tests.support.concurrency import aside

pytestmark = [pytest.mark.pages, pytest.mark.timeout(900)]
COUNT, LOOK_EVERY = 500, 50
MOST_GROWTH_BYTES = 1_000_000  # of the heap: what a decision leaves behind would be 500 times in it
RENEWED = 20  # claims that a slow sitting holds on to
NODES_OF_THREE = 1_000  # the one shown, the one ahead and the one that can be undone differ a little


@pytest.fixture
def reviewer(visitor):
    client = visitor("reviewer")
    task = TaskFactory(organization=client.organization, name="Poems")
    for at in range(COUNT):
        ReviewFactory(run__completion__task=task, run__completion__response=f"Poem number {at}.", value=0.25)
    return client


class Weighed:
    """What the page holds, after its garbage was collected."""

    def __init__(self, page):
        self.page, self.devtools = page, page.context.new_cdp_session(page)
        self.devtools.send("Performance.enable")

    def now(self):
        """{nodes, listeners, heap, kept}: nodes count those that are in no document but held by a script."""
        self.devtools.send("HeapProfiler.collectGarbage")
        metrics = {
            metric["name"]: metric["value"] for metric in self.devtools.send("Performance.getMetrics")["metrics"]
        }
        return {
            "nodes": metrics["Nodes"],
            "listeners": metrics["JSEventListeners"],
            "heap": metrics["JSHeapUsedSize"],
            "kept": self.page.evaluate("localStorage.length + sessionStorage.length"),
        }


def decided(page, number):
    """Enter a score and wait until the next review is shown."""
    item = page.locator("[data-stage] [data-item]")
    before = item.get_attribute("data-item")
    page.keyboard.press(str(number % 10))
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-stage] [data-item="{before}"]')).to_have_count(0)
    if number < COUNT - 1:
        expect(item).to_be_visible()


def test_five_hundred_in_one_sitting(reviewer, browse):
    page = browse(reviewer, "/reviews/next")
    page.evaluate("window.sameDocument = true")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    weighed, requests, held = Weighed(page), [], []
    for at in range(COUNT):
        decided(page, at)
        requests.append(len(page.requested_urls))
        if at % LOOK_EVERY == LOOK_EVERY - 1:
            held.append(weighed.now())
    expect(page.get_by_text("No reviews left for you")).to_be_visible()
    expect(page.locator(".sitting [data-sitting]")).to_have_text(str(COUNT))
    expect(page.locator(".sitting [data-left]")).to_have_text("0")
    assert page.evaluate("window.sameDocument") is True

    first, last = requests[110] - requests[10], requests[-1] - requests[-101]
    assert 0 < last <= first + RENEWED, (first, last)
    early, late = held[1], held[-2]  # the last one holds none ahead
    assert late["nodes"] - early["nodes"] < NODES_OF_THREE, held
    assert late["listeners"] - early["listeners"] < 20, held
    assert late["heap"] - early["heap"] < MOST_GROWTH_BYTES, held
    assert late["kept"] - early["kept"] < 10, held

    page.get_by_role("link", name="Back to the list").click()
    page.wait_for_url("**/reviews")
    decisions = aside(lambda: list(Review.objects.order_by("pk").values_list("status", "decided_value"))).result(20)
    assert [status for status, _ in decisions] == ["approved"] * COUNT
    assert [value for _, value in decisions] == [pytest.approx(at % 10 / 10) for at in range(COUNT)]
    assert aside(Score.objects.count).result(20) == COUNT
    assert page.console_errors == []
