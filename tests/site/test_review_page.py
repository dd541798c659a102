"""The administration's page of a review in a browser: on a phone and a desk, in light and dark, with hostile texts."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import sync_playwright

from autotune.access.models import User
from scores.models import Review
from tests.factories import ReviewFactory
from tests.support.browsing import DESK, PHONE, SCHEMES, foreign, is_right, launched, too_wide, watch
from tests.support.concurrency import aside

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
HOSTILE = "<script>alert(1)</script> javascript:alert(1) \x1b[31mred\x1b[0m "


@pytest.fixture
def review(db):
    return ReviewFactory(
        run__completion__prompt=HOSTILE,
        run__completion__response="x" * 200_000,  # one line
        run__completion__messages=[{"role": "user", "content": HOSTILE + "y" * 5_000}],
        reasoning="I am not sure, because " + "z" * 2_000,
        dimensions=[{"name": "tone", "value": 0.5, "weight": 1.0}],
    )


@pytest.fixture
def visit(live_server, chromium_path, tmp_path, review):
    """`visit(path, size, scheme)`: an open page of a superuser, with the lists of `tests.support.browsing.watch`.

    The review is there before: while the browser is driven, this thread may not speak to the database.
    """
    client = Client()
    client.force_login(User.objects.create_superuser("boss@example.org", "a-password-that-nobody-sees"))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    with sync_playwright() as playwright:
        browser = launched(playwright, chromium_path)

        def open_page(path, size=DESK, scheme="light"):
            context = browser.new_context(viewport=size, color_scheme=scheme)
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
            page = watch(context.new_page())
            page.on("dialog", lambda dialog: (page.console_errors.append(dialog.message), dialog.dismiss()))
            page.status = page.goto(live_server.url + path, wait_until="networkidle").status
            name = path.strip("/").replace("/", "-")[:40]
            page.screenshot(path=tmp_path / f"{name}-{size['width']}-{scheme}.png", full_page=True)
            return page

        yield open_page
        browser.close()


def test_the_page_is_good_on_a_phone_and_a_desk_in_light_and_dark(visit, live_server, review):
    for size in (PHONE, DESK):
        for scheme in SCHEMES:
            page = visit(f"/admin/scores/review/{review.pk}/change/", size, scheme)
            assert page.status == 200
            assert too_wide(page) <= 0, (size, scheme)
            assert is_right(page, scheme), scheme
            assert (page.failed_urls, foreign(page, live_server), page.console_errors) == ([], [], [])


def test_a_decision_is_made_on_the_page(visit, review):
    page = visit("/admin/scores/review/", PHONE)
    page.get_by_role("link", name=review.public_id).click()
    page.get_by_label("Approve with another score").check()
    page.get_by_label("Score:", exact=True).fill("0.75")
    page.get_by_label("Explanation:").fill("Right.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/scores/review/")
    decided = aside(lambda: Review.objects.values_list("status", "decided_value").get()).result(10)
    assert decided == ("approved", 0.75)
