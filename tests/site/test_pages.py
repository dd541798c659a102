"""The pages of our own: what they show, that they need no other host, and how they look in a browser."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from playwright.sync_api import sync_playwright

from tests.support.browsing import DESK, PHONE, SCHEMES, foreign, is_right, launched, too_wide, violations, watch
from tests.support.markup import compact

# A link within a button, which Swagger UI makes of each operation so that it can be pointed to.
BUILT_SO = ("axe nested-interactive: <button", 'axe target-size: <a class="nostyle"')
LINK = re.compile(r"""(?:src|href|action)=["']([^"']*)""")


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


def test_the_home_page_is_public_and_links_to_everything(client):
    page = client.get("/")
    assert page.status_code == 200
    html = page.content.decode()
    for target in LINK.findall(html):
        if target.startswith("/static/"):
            assert finders.find(target.removeprefix("/static/")), target
        elif not target.startswith(("/api/v1/ready", "/admin", "/account")):  # these need the database
            assert client.get(target).status_code == 200, target


@pytest.mark.parametrize("path", ["/", "/nowhere"])
def test_a_page_names_no_other_host(client, path):
    for target in LINK.findall(client.get(path).content.decode()):
        assert target.startswith("/"), target
        assert not target.startswith("//"), target


def test_a_browser_gets_an_error_page_with_its_status(client):
    page = client.get("/nowhere/<script>alert(1)</script>", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert page["Content-Type"].startswith("text/html")
    html = page.content.decode()
    assert "<h1>Not found</h1>" in compact(html)
    assert "There is nothing at this address." in html
    assert "<script>" not in html
    assert f"<code>{page['X-Request-Id']}</code>" in html


def test_pages_send_the_headers_that_protect_them(client):
    headers = client.get("/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_the_docs_come_from_files_of_our_own(client):
    page = client.get("/api/v1/docs", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert page["Content-Type"].startswith("text/html")
    html = page.content.decode()
    assert LINK.findall(html)
    assert not re.search(r"(?:https?:)?//[a-z0-9]", html), "the page names another host"
    for target in LINK.findall(html):
        if target.startswith("/static/"):
            assert finders.find(target.removeprefix("/static/")), target


def test_schema_and_docs_are_public_for_any_accept_header(client):
    for accept in ("text/html", "application/json", "*/*", "image/png"):
        assert client.get("/api/v1/schema", headers={"Accept": accept}).status_code == 200
        assert client.get("/api/v1/docs", headers={"Accept": accept}).status_code == 200


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture
def visit(live_server, chromium_path, tmp_path):
    """`visit(path, size, scheme)`: an open page in headless Chromium, with the lists of `tests.support.browsing.watch`."""
    with sync_playwright() as playwright:
        browser = launched(playwright, chromium_path)

        def open_page(path, size=DESK, scheme="light"):
            page = watch(browser.new_context(viewport=size, color_scheme=scheme).new_page())
            page.status = page.goto(live_server.url + path, wait_until="networkidle").status
            page.screenshot(
                path=tmp_path / f"{path.strip('/').replace('/', '-') or 'home'}-{size['width']}-{scheme}.png"
            )
            return page

        yield open_page
        browser.close()


in_a_browser = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.mark.pages
@in_a_browser
@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/nowhere", 404)])
def test_a_page_is_good_on_a_phone_and_a_desk_in_light_and_dark(visit, live_server, path, status):
    for size in (PHONE, DESK):
        for scheme in SCHEMES:
            page = visit(path, size, scheme)
            assert page.status == status
            assert too_wide(page) <= 0, (size, scheme)
            assert is_right(page, scheme), scheme
            assert [*violations(page)] == [], (size, scheme)
            assert (page.failed_urls, foreign(page, live_server)) == ([], [])
            assert [
                text for text in page.console_errors if "404" not in text
            ] == []  # Chromium reports the page's own status


@pytest.mark.pages
@in_a_browser
def test_a_page_can_be_read_by_its_structure(visit):
    page = visit("/")
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en-GB"
    assert page.get_by_role("navigation", name="Main").get_by_role("link").count() == 2
    page.get_by_role("navigation", name="Main").get_by_role("link", name="API reference").click()
    page.wait_for_url("**/api/v1/docs")


@pytest.mark.pages
@in_a_browser
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_docs_render_every_tag_without_another_host(visit, live_server, scheme):
    page = visit("/api/v1/docs", scheme=scheme)
    page.wait_for_selector(".opblock")
    tags = set(page.locator(".opblock-tag").evaluate_all("all => all.map(one => one.dataset.tag)"))
    assert {"Completions", "Graders", "Scores", "Tasks", "API keys", "Workflow runs", "Audit log", "Server"} <= tags
    assert (page.failed_urls, foreign(page, live_server), page.console_errors) == ([], [], [])
    page.get_by_label("Search operations").fill("Graders  POST rotate-secret")
    page.wait_for_function("document.querySelectorAll('.opblock').length === 1")
    assert page.locator("[data-operations-count]").inner_text() == "1 operation"
    page.get_by_label("Search operations").fill("")
    page.wait_for_function("document.querySelectorAll('.opblock').length > 50")
    assert is_right(page, scheme)
    assert [violation for violation in violations(page) if not violation.startswith(BUILT_SO)] == []


@pytest.mark.pages
@in_a_browser
def test_the_docs_have_the_colours_that_were_chosen_on_the_pages(visit, live_server):
    page = visit("/api/v1/docs", scheme="light")
    page.context.add_cookies([{"name": "theme", "value": "dark", "url": live_server.url}])
    page.reload()
    assert is_right(page, "dark")


@pytest.mark.pages
@in_a_browser
def test_the_docs_fit_a_phone(visit):
    page = visit("/api/v1/docs", PHONE)
    page.wait_for_selector(".opblock")
    assert too_wide(page) <= 0
