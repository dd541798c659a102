"""The account pages in Chromium under the real Content-Security-Policy: phone and desktop, light and dark."""

import hashlib
import itertools
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import sync_playwright

from autotune.access.models import Membership, Role
from tests.access.accounts.people import PASSWORD, code_of, logged_in, person, set_up
from tests.factories import OrganizationFactory
from tests.support.browsing import DESK, PHONE, SCHEMES, foreign, is_right, launched, too_wide, violations, watch

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
LOOKED_AT = ((DESK, "light"), (PHONE, "dark"))  # by axe
TOKEN = "a-token-of-an-invitation"


def role(name):
    return Role.objects.get(organization=None, name=name)


@pytest.fixture
def world(transactional_db):
    """Who there is before the browser starts: while it is driven, this thread may not speak to the database."""
    user, guarded = person(name="Ada Example"), person("guarded@example.org", name="Gu Arded")
    for name, held in (("Bergen Compilers", "organization_admin"), ("Lund Law", "reviewer")):
        organization = OrganizationFactory(name=name)
        for member in (user, guarded):
            Membership.objects.create(organization=organization, user=member, role=role(held))
    boss = person("boss@example.org", name="Bo Boss")
    lund = organization  # the last of them
    Membership.objects.create(organization=lund, user=boss, role=role("organization_admin"))
    Membership.objects.create(
        organization=lund,
        email="new@example.org",
        role=role("reviewer"),
        invited_by=boss,
        token_digest=hashlib.sha256(TOKEN.encode()).digest(),
        expires_at=timezone.now() + timedelta(days=7),
    )
    client = logged_in(guarded, User_Agent="Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0")
    return {"secret": set_up(client), "session": client.cookies["sessionid"].value}


@pytest.fixture
def window(live_server, chromium_path, tmp_path, world):
    """`window(session=…, sizes=…, schemes=…)`: a page of the first of these; `shoot` after each step looks at it in
    each of them."""
    with sync_playwright() as playwright:
        browser = launched(playwright, chromium_path)

        def make(*, session="", sizes=(PHONE,), schemes=("light",)):
            context = browser.new_context(viewport=sizes[0], color_scheme=schemes[0], base_url=live_server.url)
            if session:
                context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
            page = watch(context.new_page())

            def shoot(name):
                page.wait_for_load_state()
                for size, scheme in itertools.product(sizes, schemes):
                    if len(sizes) * len(schemes) > 1:
                        page.set_viewport_size(size)
                        page.emulate_media(color_scheme=scheme)
                    page.screenshot(path=tmp_path / f"{name}-{size['width']}-{scheme}.png", full_page=True)
                    assert too_wide(page) <= 0, (name, size, scheme)
                    assert is_right(page, scheme), (name, scheme)
                    if (size, scheme) in LOOKED_AT:
                        assert [*violations(page)] == [], (name, size, scheme)
                console_errors = [text for text in page.console_errors if "status of 40" not in text]
                assert (console_errors, page.failed_urls, foreign(page, live_server)) == ([], [], []), name
                assert page.locator("h1").count() == 1, name

            page.shoot, page.home = shoot, live_server.url
            return page

        yield make
        browser.close()


def enter(page, email):
    page.goto("/account/login")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def test_every_page_is_good(window, world):
    everywhere = {"sizes": (DESK, PHONE), "schemes": SCHEMES}
    stranger = window(**everywhere)
    for name, path in {
        "login": "/account/login", "forgotten": "/account/password/forgotten", "sent": "/account/password/sent",
        "bad-link": "/account/password/reset/abc-def", "invitation": f"/invitations/{TOKEN}",
        "invitation-gone": "/invitations/nothing", "join": "/account/join", "inactive": "/account/inactive",
    }.items():  # fmt: skip
        stranger.goto(path)
        stranger.shoot(name)
    stranger.goto("/account/login")
    stranger.get_by_label("Email").fill("someone@example.org")
    stranger.get_by_label("Password").fill("a wrong password")
    stranger.get_by_role("button", name="Log in", exact=True).click()
    stranger.get_by_role("alert").wait_for()
    stranger.shoot("login-failed")
    inside = window(session=world["session"], **everywhere)
    for name, path in {
        "account": "/account", "password": "/account/password", "codes": "/account/recovery-codes",
        "new-codes": "/account/recovery-codes/new", "factor-off": "/account/second-factor/off",
        "logout": "/account/logout", "no-admin": "/admin/login/", "confirm": "/account/confirm",
        "confirm-code": "/account/confirm/code",
    }.items():  # fmt: skip
        inside.goto(path)
        inside.shoot(name)


def test_a_person_sets_up_the_second_factor_and_logs_in_with_it(window):
    page = window()
    enter(page, "someone@example.org")
    page.wait_for_url(f"{page.home}/")
    page.goto("/account")
    page.shoot("account-plain")
    page.get_by_role("link", name="Set up").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/account/second-factor/on**")
    page.shoot("factor-on")
    secret = page.locator("code.secret").inner_text()
    page.get_by_label("Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn on the second factor").click()
    page.wait_for_url("**/account/recovery-codes")
    page.shoot("codes-fresh")
    code = page.locator(".codes li").first.inner_text()
    page.get_by_role("link", name="Go to your account").click()
    page.get_by_role("button", name="Switch to Lund Law").click()
    page.get_by_text("You now act in Lund Law").wait_for()
    page.shoot("account-guarded")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{page.home}/")  # a form still on its way would interrupt what is opened next
    enter(page, "someone@example.org")
    page.wait_for_url("**/account/code")
    page.shoot("code")
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url(f"{page.home}/")
    page.goto("/account")
    assert page.get_by_text("9 left").count() == 1


def test_a_new_person_accepts_an_invitation(window):
    page = window()
    page.goto(f"/invitations/{TOKEN}")
    page.get_by_label("Your name").fill("Nia New")
    page.get_by_label("Password").fill("short")
    page.get_by_role("button", name="Create the account and join").click()
    page.get_by_role("alert").wait_for()
    page.shoot("invitation-faults")
    page.get_by_label("Password").fill("a sentence that is long")
    page.get_by_role("button", name="Create the account and join").click()
    page.wait_for_url(f"{page.home}/")
    page.shoot("overview-new")
    assert page.get_by_text("Welcome to Lund Law").count() == 1
