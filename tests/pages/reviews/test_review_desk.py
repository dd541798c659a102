"""The review page in a browser: keyboard, one review after the other, undo, drafts and two reviewers at once."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from scores.models import Review, Score
from tests.factories import ReviewFactory, TaskFactory, UserFactory
from tests.support.browsing import PHONE, LateScripts, too_wide
from tests.support.concurrency import aside

pytestmark = pytest.mark.pages


@pytest.fixture
def reviewer(visitor):
    client = visitor("reviewer")
    client.task = TaskFactory(organization=client.organization, name="Poems")
    return client


def make_reviews(client, number):
    reviews = []
    for at in range(number):
        review = ReviewFactory(
            run__completion__task=client.task, run__completion__response=f"Poem number {at}.", value=0.25
        )
        reviews.append(review)
    return reviews


def of_database(work):
    """Run a query in another thread: while a browser is driven, this one must not query."""
    return aside(work).result(20)


def statuses():
    return of_database(lambda: list(Review.objects.order_by("pk").values_list("status", "decided_value")))


def shown(page):
    return page.locator("[data-stage] [data-item]").get_attribute("data-item")


def decide(page, key):
    """Press a score and Enter; return when the next review is shown."""
    before = shown(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(f'[data-stage] [data-item="{before}"]')).to_have_count(0)
    return before


def decided(page, number):
    """Wait until so many are decided in the database."""
    for _ in range(100):
        count = of_database(lambda: Review.objects.exclude(status="open").count())
        if count >= number:
            return count
        page.wait_for_timeout(50)
    return count


def test_forty_in_a_row_by_keyboard(reviewer, browse):
    make_reviews(reviewer, 42)
    page = browse(reviewer, "/reviews/next")
    page.evaluate("window.sameDocument = true")
    seen, nodes = set(), []
    for at in range(41):
        expect(page.locator("[data-stage] [data-item]")).to_be_visible()
        nodes.append(page.evaluate("document.querySelectorAll('*').length"))
        seen.add(decide(page, str(at % 10)))
    assert len(seen) == 41
    assert page.evaluate("window.sameDocument") is True
    assert max(nodes) - min(nodes) < 20
    expect(page.locator(".sitting [data-sitting]")).to_have_text("41")
    page.get_by_role("link", name="Stop reviewing").click()
    page.wait_for_url("**/reviews")
    decisions = statuses()
    assert [value for _, value in decisions[:10]] == [pytest.approx(at / 10) for at in range(10)]
    assert [status for status, _ in decisions].count("approved") == 41
    assert of_database(lambda: Score.objects.count()) == 41
    assert of_database(lambda: Review.objects.filter(status="open", claimed_by__isnull=False).count()) == 0
    assert page.console_errors == []


def test_a_blind_review_is_approved_only_with_a_score(reviewer, browse):
    first, _ = make_reviews(reviewer, 2)
    Review.objects.update(blind=True)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-says]")).to_have_text("Required to approve.")
    page.keyboard.press("Enter")
    expect(page.locator("[name=value]")).to_be_focused()
    assert (shown(page), "0.25" in page.content()) == (first.public_id, False)
    page.keyboard.press("Escape")
    decide(page, "7")
    page.keyboard.press("x")
    decided(page, 1)
    assert statuses()[0] == ("approved", 0.7)


def test_two_browsers_never_get_the_same_review(reviewer, visitor, browse):
    make_reviews(reviewer, 12)
    other = visitor("reviewer", reviewer.organization)
    pages = [browse(reviewer, "/reviews/next"), browse(other, "/reviews/next")]
    seen = []
    for _ in range(5):
        for page in pages:
            expect(page.locator("[data-stage] [data-item]")).to_be_visible()
            seen.append(decide(page, "7"))
    assert len(set(seen)) == len(seen) == 10
    for page in pages:
        assert [text for text in page.console_errors if "409" in text] == []


def test_undo_reverts_the_last_decision_before_it_is_sent(reviewer, browse):
    make_reviews(reviewer, 3)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    first = decide(page, "9")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    second = shown(page)
    assert statuses()[0][0] == "open"
    page.keyboard.press("u")
    expect(page.locator(f'[data-stage] [data-item="{first}"]')).to_be_visible()
    expect(page.locator("input[name=value]")).to_have_value("0.9")
    assert decide(page, "2") == first
    expect(page.locator(f'[data-stage] [data-item="{second}"]')).to_be_visible()
    page.get_by_role("link", name="Stop reviewing").click()
    page.wait_for_url("**/reviews")
    assert statuses()[0] == ("approved", 0.2)


def test_a_decision_is_sent_when_the_page_is_left(reviewer, browse):
    make_reviews(reviewer, 3)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    decide(page, "6")
    page.goto("/workflow-runs")
    assert decided(page, 1) == 1
    assert statuses()[0] == ("approved", 0.6)


def test_what_is_typed_survives_a_reload(reviewer, browse):
    make_reviews(reviewer, 2)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    before = shown(page)
    page.keyboard.press("4")
    page.keyboard.press("e")
    page.keyboard.type("A long thought, 123.")
    page.reload()
    expect(page.locator(f'[data-stage] [data-item="{before}"]')).to_be_visible()
    expect(page.locator("textarea[name=explanation]")).to_have_value("A long thought, 123.")
    expect(page.locator("input[name=value]")).to_have_value("0.4")


def test_an_ended_session_loses_nothing(reviewer, browse):
    make_reviews(reviewer, 3)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    cookies = page.context.cookies()
    decide(page, "8")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.type("Still typing")
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    page.context.add_cookies(cookies)
    page.goto("/reviews/next")
    assert decided(page, 2) == 2
    values = of_database(lambda: list(Review.objects.order_by("pk").values_list("decided_value", flat=True)))
    assert values[0] == 0.8
    assert [
        review.explanation
        for review in of_database(lambda: list(Review.objects.filter(status="approved").order_by("pk")))
    ][1] == "Still typing"


def test_a_refused_decision_keeps_the_text(reviewer, browse):
    first, _ = make_reviews(reviewer, 2)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    page.keyboard.press("e")
    page.keyboard.type("My reasons")
    until = timezone.now() + timedelta(minutes=5)
    of_database(lambda: Review.objects.filter(pk=first.pk).update(claimed_by=UserFactory(), claimed_until=until))
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Undo").wait_for()
    page.keyboard.press("s")
    expect(page.locator("[data-troubles]")).to_contain_text("was not saved")
    expect(page.locator("[data-kept]")).to_contain_text("My reasons")
    assert of_database(lambda: Review.objects.get(pk=first.pk).status) == "open"


def test_a_skipped_review_is_free_for_others(reviewer, browse):
    first, second = make_reviews(reviewer, 2)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator(f'[data-stage] [data-item="{first.public_id}"]')).to_be_visible()
    page.keyboard.press("s")
    expect(page.locator(f'[data-stage] [data-item="{second.public_id}"]')).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator(f'[data-stage] [data-item="{first.public_id}"]')).to_be_visible()
    expect(page.locator("[data-status]")).to_contain_text("skipped this review before")


def test_a_skipped_review_returns_even_if_its_release_is_late(reviewer, browse):
    first, second = make_reviews(reviewer, 2)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator(f'[data-stage] [data-item="{first.public_id}"]')).to_be_visible()
    on_its_way, requests = [], []
    page.route("**/release", lambda route: on_its_way.append(route))
    page.on("request", lambda request: requests.append(request.url) if request.url.endswith("/reviews/next") else None)
    page.keyboard.press("s")
    expect(page.locator(f'[data-stage] [data-item="{second.public_id}"]')).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator(".sitting [data-sitting]")).to_have_text("1")
    assert requests == []
    on_its_way[0].continue_()
    expect(page.locator(f'[data-stage] [data-item="{first.public_id}"]')).to_be_visible()


def test_the_end_is_shown_and_the_last_decision_can_be_undone(reviewer, browse):
    make_reviews(reviewer, 1)
    page = browse(reviewer, "/reviews/next")
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    first = decide(page, "f")
    expect(page.get_by_text("No reviews left for you")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator(f'[data-stage] [data-item="{first}"]')).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_page_fits_a_phone(reviewer, browse):
    make_reviews(reviewer, 1)
    page = browse(reviewer, "/reviews/next", viewport=PHONE)
    expect(page.locator("[data-stage] [data-item]")).to_be_visible()
    assert too_wide(page) <= 0


def test_nothing_moves_when_scripts_load(reviewer, browse):
    make_reviews(reviewer, 1)
    late = LateScripts(browse(reviewer, "/reviews/next"))
    late.goto("/reviews/next")
    expect(late.page.get_by_role("slider", name="Your score")).to_be_visible()
    expect(late.page.get_by_role("button", name="Keys")).to_be_visible()
    assert late.shifts() == []


def test_it_works_without_scripts(reviewer, browse):
    first, second = make_reviews(reviewer, 2)
    page = browse(reviewer, "/reviews", java_script_enabled=False)
    page.get_by_role("button", name="Start reviewing").click()
    page.get_by_label("Your score (0 to 1)").fill("0.75")
    page.get_by_role("button", name="Approve").click()
    page.locator(f'[data-item="{second.public_id}"]').wait_for()
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("No reviews left for you").wait_for()
    assert statuses() == [("approved", 0.75), ("rejected", None)]
    assert first.status == "open"
