"""People who look at pages: a logged-in client of a role, and the same in a browser."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import sync_playwright

from autotune.access.models import Membership, Role
from tests.browsing import DESK, FLAGS, watch
from tests.factories import OrganizationFactory, UserFactory


@pytest.fixture
def visitor(db):
    """`visitor(role, organization=None)`: a client that is logged in; it has `.organization` and `.user`."""

    def make(role="organization_admin", organization=None, user=None):
        client = Client()
        client.organization = organization or OrganizationFactory()
        client.user = user or UserFactory()
        role = role if isinstance(role, Role) else Role.objects.get(organization=None, name=role)
        Membership.objects.create(organization=client.organization, user=client.user, role=role)
        client.force_login(client.user)
        return client

    return make


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
