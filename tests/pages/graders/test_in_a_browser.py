"""What needs a browser: live parts, the check list in place, the copy button, the console, the keyboard, the phone."""

import pytest
from playwright.sync_api import expect

from graders.models import Grader
from tests.factories import OrganizationFactory
from tests.support.browsing import DESK, PHONE, too_wide
from tests.support.fakes import FakeGrader, serving

pytestmark = pytest.mark.pages


@pytest.fixture
def fake(grader, pages):
    fake_grader = FakeGrader(
        judge=lambda _: {
            "value": 0.72, "confidence": 0.9, "dimensions": [{"name": "accuracy", "value": 0.9, "weight": 0.5}],
        }
    )  # fmt: skip
    with serving(fake_grader):
        pages.point(grader, fake_grader.url, supports_dimensions=True)
        yield fake_grader


def test_the_board_refreshes_in_place_and_keeps_the_focus(owner, grader, browse):
    page = browse(owner, "/graders")
    link = page.get_by_role("link", name="Law")
    link.focus()
    Grader.objects.update(status="degraded", troubles=["health"])
    page.evaluate("htmx.trigger('#board', 'refresh')")
    expect(page.locator("#board").get_by_text("degraded")).to_be_visible()
    expect(link).to_be_focused()
    assert page.console_errors == []


def test_the_check_list_appears_in_place(owner, grader, fake, pages, browse):
    page = browse(owner, pages.address("grader_verify", grader))
    page.evaluate("window.stayed = true")
    page.get_by_role("button", name="Verify now").press("Enter")
    expect(page.get_by_text("Verified: the grader is active")).to_be_visible()
    expect(page.get_by_role("img", name="passed")).to_have_count(4)
    expect(page.get_by_role("button", name="Verify again")).to_be_focused()
    assert page.evaluate("window.stayed")
    assert page.console_errors == []


def test_health_results_are_shown_before_the_sample_is_scored(owner, grader, fake, pages, browse):
    fake.gate.clear()
    page = browse(owner, pages.address("grader_verify", grader))
    page.get_by_role("button", name="Verify now").press("Enter")
    expect(page.get_by_text("The grader reports that it is healthy.")).to_be_visible()
    expect(page.get_by_role("img", name="passed")).to_have_count(3)
    expect(page.get_by_text("Waiting for its score.")).to_be_visible()
    assert Grader.objects.get().status == "inactive"
    fake.gate.set()
    expect(page.get_by_text("Verified: the grader is active")).to_be_visible()
    expect(page.get_by_role("img", name="passed")).to_have_count(4)
    assert page.console_errors == []


def test_verification_works_without_scripts(owner, grader, fake, pages, browse):
    page = browse(owner, pages.address("grader_verify", grader), java_script_enabled=False)
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("Verified: the grader is active")).to_be_visible()


def test_the_console_shows_request_and_response_in_place_and_errors_at_their_fields(owner, grader, fake, pages, browse):
    page = browse(owner, pages.address("grader_try", grader))
    page.get_by_label("Metadata").fill("{")
    page.get_by_role("button", name="Send the sample").click()
    expect(page.get_by_text("Enter valid JSON")).to_be_visible()
    page.get_by_label("Metadata").fill("")
    page.get_by_role("button", name="Send the sample").click()
    expect(page.get_by_text("X-Autotune-Signature:")).to_be_visible()
    expect(page.locator("#answers").get_by_text("0.720")).to_be_visible()
    expect(page.locator("#answers")).to_be_focused()
    assert [line for line in page.console_errors if "400" not in line] == []


def test_a_new_secret_is_copied_by_its_button(owner, grader, pages, browse):
    page = browse(owner, pages.address("grader_rotate", grader), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Create a new secret").click()
    page.get_by_role("button", name="Copy the shared secret").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#secret").text_content()


@pytest.mark.parametrize("name", ["grader", "grader_health", "grader_settings", "grader_edit", "grader_try"])
def test_no_page_is_wider_than_a_phone(owner, grader, counted, pages, name, browse):
    Grader.objects.update(
        name="x" * 200, description="y" * 9000, endpoint=f"https://{'z' * 60}.example.org/{'a' * 900}"
    )
    counted(grader, [0.5], {"timeout": 1})
    page = browse(owner, pages.address(name, grader), viewport=PHONE)
    assert too_wide(page) <= 0
    page.goto("/graders")
    assert too_wide(page) <= 0


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_name_without_a_gap_makes_the_marketplace_no_wider(visitor, listed, counted, browse, viewport):
    long = f"<script>\u202egnirts\u202c {'W' * 120}"
    Grader.objects.update(name=long, description=long, domains=["W" * 64])
    counted(listed, [0.5], {"timeout": 1})
    page = browse(visitor("training_operator"), "/marketplace", viewport=viewport)
    assert too_wide(page) <= 0
    assert page.evaluate(
        "[...document.querySelectorAll('.market > .panel')].every(one => one.scrollWidth <= one.clientWidth)"
    )


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_long_organization_name_makes_the_refusal_no_wider(visitor, browse, viewport):
    client = visitor("grader_owner", OrganizationFactory(name="W" * 200))
    page = browse(client, "/marketplace", viewport=viewport)
    expect(page.locator("h1")).to_have_text("Not allowed")
    assert too_wide(page) <= 0


def test_on_a_phone_the_chosen_tab_can_be_read(owner, grader, pages, browse):
    page = browse(owner, pages.address("grader_try", grader), viewport={"width": 320, "height": 640})
    chosen = page.locator(".tabs [aria-current]").bounding_box()
    assert 0 <= chosen["x"] <= 320 - chosen["width"]
