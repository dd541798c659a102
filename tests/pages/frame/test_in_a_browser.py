"""The frame in Chromium: by keyboard, on a phone, with the choice of colours, and while parts of it refresh."""

import pytest
from playwright.sync_api import expect

from autotune.access.models import Membership, Role, WebSession
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, WebhookFactory
from tests.support.browsing import DESK, PHONE, ground, too_wide

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
REFRESH = "() => window.htmx.trigger(document.querySelector('#needs'), 'refresh')"
SHIFTS = """new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted = (window.shifted ?? 0) + entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture
def admin(visitor):
    client = visitor(organization=OrganizationFactory(name="Bergen Compilers"))
    lund = OrganizationFactory(name="Lund Law")
    Membership.objects.create(
        organization=lund, user=client.user, role=Role.objects.get(organization=None, name="reviewer")
    )
    own = {"organization": client.organization, "created_by": client.user}
    GraderFactory(**own, name="Law of Norway")
    GraderFactory(**own, name="Law of Sweden", status="degraded")
    TaskFactory(**own, name="Law")
    return client


def focused(page):
    return page.evaluate("document.activeElement.textContent.trim() || document.activeElement.name")


def test_the_search_works_by_keyboard(admin, browse):
    page = browse(admin, "/search")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("law of")
    results = page.locator("#found a")
    expect(results).to_have_count(4)  # two graders, and the rotation of their secrets
    page.keyboard.press("ArrowDown")
    expect(results.first).to_be_focused()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(results.last).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(results.last).to_be_focused()
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")
    page.locator("#main").focus()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(results).to_have_count(0)
    page.keyboard.type("a/b")
    expect(page.get_by_role("searchbox")).to_have_value("a/b")
    assert page.console_errors == []


def test_the_first_tab_skips_to_the_content(admin, browse):
    page = browse(admin, "/search")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_on_a_phone_the_menu_opens_and_closes_by_keyboard(admin, browse):
    page = browse(admin, "/", viewport=PHONE)
    nav = page.get_by_role("navigation", name="Main")
    expect(nav).to_be_hidden()
    page.get_by_role("button", name="Menu").focus()
    page.keyboard.press("Enter")
    expect(nav).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#nav') !== null")
    page.keyboard.press("Escape")
    expect(nav).to_be_hidden()
    expect(page.get_by_role("button", name="Menu")).to_be_focused()
    assert too_wide(page) <= 0


def test_a_person_switches_the_organization_and_dismisses_the_message(admin, browse):
    page = browse(admin, "/")
    page.get_by_role("button", name="Bergen Compilers").click()
    page.get_by_role("button", name="Lund Law").click()
    toast = page.locator("[data-toast]")
    expect(toast).to_contain_text("You now act in Lund Law")
    expect(page.locator(".organization")).to_contain_text("Lund Law")
    page.get_by_role("button", name="Dismiss").click()
    expect(toast).to_have_count(0)


def test_the_colour_scheme_is_kept_and_applies_from_the_first_byte(admin, browse):
    page = browse(admin, "/", color_scheme="light")
    assert ground(page) > 200
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Dark").click()
    assert ground(page) < 60
    sent = page.goto("/search").text()
    assert '<html lang="en-GB" data-theme="dark">' in sent
    assert ground(page) < 60
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="System").click()
    page.goto("/search")
    assert ground(page) > 200


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_moves_while_a_page_is_built_or_refreshed(admin, browse, viewport):
    page = browse(admin, "/search", viewport=viewport)
    page.add_init_script(SHIFTS)
    page.goto("/")
    page.wait_for_load_state("networkidle")
    with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "needs"):
        page.evaluate(REFRESH)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.shifted ?? 0") < 0.02


def test_a_refresh_keeps_focus_and_scroll_position_and_shows_new_data(admin, browse):
    WebhookFactory(organization=admin.organization, status="disabled")
    page = browse(admin, "/", viewport={"width": 1000, "height": 400})
    card = page.locator("#needs a", has_text="Disabled webhooks")
    card.focus()
    page.evaluate("window.scrollTo(0, 180)")
    before = page.evaluate("window.scrollY")
    WebhookFactory(organization=admin.organization, status="disabled")
    with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "needs"):
        page.evaluate(REFRESH)
    expect(card.locator(".value")).to_have_text("2")
    expect(card).to_be_focused()
    assert page.evaluate("window.scrollY") == before
    expect(page.locator("#needs")).to_have_count(1)
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_an_ended_session_leads_to_the_login_and_back(admin, browse):
    page = browse(admin, "/?period=7d")
    WebSession.objects.all().delete()
    page.evaluate(REFRESH)
    page.wait_for_url("**/account/login?next=**")
    assert "period%3D7d" in page.url
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_the_page_can_be_read_without_scripts(admin, browse):
    page = browse(admin, "/?period=7d", java_script_enabled=False)
    expect(page.get_by_role("link", name="Graders in trouble")).to_be_visible()
    page.get_by_role("searchbox").fill("law of")
    page.keyboard.press("Enter")
    expect(page.locator("#results a")).to_have_count(4)
