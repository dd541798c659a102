"""People who look at pages in a browser."""

import pytest
from django.conf import settings
from playwright.sync_api import sync_playwright

from tests.browsing import DESK, FLAGS, watch


@pytest.fixture(scope="session")
def chromium(chromium_path):
    """One headless Chromium for all of a process's tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=FLAGS, executable_path=chromium_path)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium, live_server):
    """`browse(client, path, viewport=DESK, **context)`: the page in a browser that is logged in as the client is."""
    contexts = []

    def work(client, path, *, viewport=DESK, **context):
        contexts.append(chromium.new_context(viewport=viewport, base_url=live_server.url, **context))
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        contexts[-1].add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
        page = watch(contexts[-1].new_page())
        page.goto(path)
        return page

    yield work
    for context in contexts:
        context.close()
