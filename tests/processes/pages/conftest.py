"""People in browsers at the one server of the tests with processes."""

import pytest
from playwright.sync_api import sync_playwright

from autotune.site.local import launch
from autotune.site.local.ports import answers
from tests.support.concurrency import until
from tests.support.visiting import House


@pytest.fixture(scope="module")
def house(server, chromium_path):
    """Its browser ends with the module: another test's may not begin beside it."""
    for kind in ("web", "worker", "beat", "live"):  # a test before this one may have ended them
        server.ensure(kind, kind)
    until(lambda: answers(int(server.env["PORT"]), launch.READY_PATH), seconds=60)
    with sync_playwright() as playwright:
        house = House(server, playwright, chromium_path)
        yield house
        house.browser.close()


@pytest.fixture(scope="module")
def member(house):
    """`member(role)`: the page of a person who accepted the administrator's invitation with this role."""
    admin = house.admin()

    def join(role):
        email = f"{role.replace(' ', '.')}@example.org"
        return house.accept(house.invite(admin, email, role), f"The {role}")

    return join
