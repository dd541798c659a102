"""Reward endpoints in a browser: tried in place, their address copied."""

import pytest
from playwright.sync_api import expect

from tests.factories import public
from tests.support.browsing import PHONE, too_wide

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


def test_an_answer_is_tried_without_leaving_the_page(operator, path, browse, graders_say):
    graders_say(0.8)
    page = browse(operator, path)
    page.get_by_label("Prompt").fill("2+2? ")
    page.get_by_label("Response").fill("4")
    page.get_by_role("button", name="Get the reward").click()
    expect(page.locator("#tried")).to_contain_text('"rewards"')
    expect(page.locator("#tried")).to_contain_text("0.8")
    expect(page.get_by_label("Response")).to_have_value("4")
    assert page.console_errors == []


def test_the_address_is_copied(operator, task, browse):
    page = browse(
        operator,
        f"/reward-endpoints/new?taskId={public('task', task)}",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.get_by_role("radio", name="slime").check()
    page.get_by_role("button", name="Create endpoint").click()
    page.get_by_role("button", name="Copy the address").click()
    expect(page.get_by_role("button", name="Copy the address")).to_have_text("Copied")
    assert "/api/v1/rewards/slime/" in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(operator, path, browse, scheme):
    for address in ("/reward-endpoints", "/reward-endpoints/new", path, f"{path}/change", f"{path}/delete"):
        page = browse(operator, address, viewport=PHONE, color_scheme=scheme)
        assert too_wide(page) <= 0, address
        assert page.console_errors == []
