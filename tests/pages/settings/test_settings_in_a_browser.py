"""What of the settings needs a browser: a key that is copied, the role's matrix, deliveries that come by themselves."""

import re

import pytest
from playwright.sync_api import expect

from autotune.access.models import Role
from tests.factories import ApiKeyFactory, DeliveryFactory, UserFactory, WebhookFactory, public
from tests.support.browsing import PHONE, foreign, too_wide
from tests.support.concurrency import aside

from .conftest import HOSTILE

pytestmark = pytest.mark.pages


def test_a_key_is_made_by_keyboard_and_copied(visitor, browse, live_server):
    page = browse(visitor(), "/settings/keys/new", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Role", exact=True).select_option(label="training operator")
    page.get_by_role("button", name="Create the key").press("Enter")
    expect(page.get_by_role("heading", name="The key is created")).to_be_visible()
    page.get_by_role("button", name="Copy the key").press("Enter")
    expect(page.get_by_role("button", name="Copy the key")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"at_live_\w+", copied)
    assert page.locator("#secret").inner_text() == copied
    assert copied not in page.url
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_role("heading", name="nightly", exact=True)).to_be_visible()
    assert copied not in page.content()
    assert (page.console_errors, page.failed_urls, foreign(page, live_server)) == ([], [], [])


def test_a_second_click_sends_nothing(visitor, browse):
    page = browse(visitor(), "/settings/keys/new")
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Role", exact=True).select_option(label="reviewer")
    page.evaluate(
        "() => { const form = document.querySelector('form[data-once]'); window.sent = 0;"
        " document.addEventListener('submit', (e) => { if (!e.defaultPrevented) window.sent += 1; e.preventDefault(); });"
        " form.requestSubmit(); form.requestSubmit(); }"
    )
    assert page.evaluate("window.sent") == 1


def test_unfolded_details_stay_open_while_the_list_refreshes(visitor, browse):
    client = visitor()
    hook = WebhookFactory(organization=client.organization, created_by=client.user)
    DeliveryFactory(webhook=hook)
    page = browse(client, f"/settings/webhooks/{hook.public_id}")
    page.locator(".deliveries summary").click()
    aside(lambda: DeliveryFactory(webhook=hook)).result(10)
    page.evaluate("htmx.trigger('#deliveries', 'refresh')")
    expect(page.locator(".deliveries details")).to_have_count(2)
    expect(page.locator(".deliveries details[open]")).to_have_count(1)
    assert page.console_errors == []


def test_the_matrix_keeps_scopes_and_actions_together(visitor, browse):
    page = browse(visitor(), "/settings/roles/new")
    scope, read = page.get_by_label("Scope of scores"), page.get_by_role("checkbox", name="read scores")
    read.check()
    expect(scope).to_have_value("organization")
    scope.select_option("own")
    expect(read).to_be_checked()
    scope.select_option("")
    expect(read).not_to_be_checked()
    assert page.console_errors == []


def test_deliveries_refresh_and_open_ones_stay_open(visitor, browse):
    client = visitor()
    hook = WebhookFactory(organization=client.organization, created_by=client.user)
    DeliveryFactory(webhook=hook)
    page = browse(client, f"/settings/webhooks/{hook.public_id}")
    expect(page.locator("#deliveries li")).to_have_count(1)
    page.locator("#deliveries summary").first.press("Enter")
    expect(page.get_by_role("button", name="Deliver again")).to_be_visible()
    page.evaluate("document.querySelector('#deliveries').dataset.live = '1'")
    expect(page.get_by_text("It was not tried yet.")).to_be_visible()
    page.locator("#deliveries summary").first.press("Enter")
    with page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true"):
        pass
    expect(page.locator("#deliveries li")).to_have_count(1)
    assert page.console_errors == []


def test_no_page_is_wider_than_a_phone_with_the_longest_names(visitor, browse):
    client = visitor(user=UserFactory(name=HOSTILE))
    role = Role.objects.create(organization=client.organization, name="W" * 64, description=HOSTILE, permissions=[])
    key = ApiKeyFactory(organization=client.organization, user=client.user, name=HOSTILE)
    hook = WebhookFactory(
        organization=client.organization, created_by=client.user, url=f"https://{'a' * 60}.example.org/{'b' * 900}",
        description=HOSTILE,
    )  # fmt: skip
    DeliveryFactory(webhook=hook)
    page = browse(client, "/settings/", viewport=PHONE)
    for path in (
        "/settings/", "/settings/members", "/settings/roles", f"/settings/roles/{public('role', role)}",
        f"/settings/roles/{public('role', role)}/edit", "/settings/keys", f"/settings/keys/{key.public_id}",
        "/settings/webhooks", f"/settings/webhooks/{hook.public_id}", "/settings/retention", "/settings/audit",
    ):  # fmt: skip
        page.goto(path)
        assert too_wide(page) == 0, path
    assert page.console_errors == []
