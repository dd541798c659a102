"""People who use pages in a browser."""

import os
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import sync_playwright

from tests.support.browsing import DESK, launched, watch

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's loop runs in the thread of the tests


@pytest.fixture(scope="session")
def written_by_migrations(django_db_setup):
    """Taken before Playwright's loop runs, in which Django has another connection object."""
    return getattr(connection, "_test_serialized_contents", None)


@pytest.fixture(autouse=True)
def _roles_come_back(written_by_migrations):
    if written_by_migrations is not None:
        connection._test_serialized_contents = written_by_migrations


@pytest.fixture
def browse(live_server, chromium_path):
    """`browse(client, path, viewport=DESK, **context)`: the page in a browser that is logged in as the client is.

    The browser begins with the first page, when the test's rows are there, and ends before the tables are emptied: its
    event loop must meet neither.
    """
    with ExitStack() as stack:
        started = []

        def work(client, path, *, viewport=DESK, **context):
            if not started:
                playwright = stack.enter_context(sync_playwright())
                started.append(launched(playwright, chromium_path))
                stack.callback(started[0].close)
            opened = started[0].new_context(viewport=viewport, base_url=live_server.url, **context)
            stack.callback(opened.close)
            cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
            opened.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
            page = watch(opened.new_page())
            page.goto(path)
            return page

        yield work
