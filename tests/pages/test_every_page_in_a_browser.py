"""Every page in Chromium with names and texts of an attacker: nothing runs, nothing breaks, and axe finds nothing."""

import pytest
from django.test import Client

from autotune.access.models import Membership, Organization, User
from bench import crowd
from tests.access.matrix import owned
from tests.factories import OrganizationFactory
from tests.support.browsing import DESK, PHONE, LateScripts, foreign, is_right, too_wide, violations
from tools.page_routes import readable

pytestmark = [pytest.mark.pages, pytest.mark.timeout(600)]
HOSTILE = "<script>document.title='hit'</script>\"'><img src=x onerror=alert(1)> \u202egnirts\u202c \U0001f469\u200d\U0001f52c {{7*7}} "
LONG = "W" * 120
MOST_SHIFT = 0.001  # of the window, times how far: nobody sees it


@pytest.fixture
def world(transactional_db):
    """An administrator's client, and the ids of an organization whose every name and text is hostile."""
    organization = OrganizationFactory(name=f"{HOSTILE}{LONG}"[:200])
    me = owned(organization, "organization_admin")
    member = next(
        membership
        for membership in Membership.objects.select_related("user")
        if membership.public_id == me.ids["member"]
    )
    User.objects.filter(pk=member.user_id).update(name=HOSTILE[:150])
    crowd.fill(organization, member.user, 200, names=lambda text: f"{HOSTILE}{text} {LONG}"[:190])
    assert Organization.objects.get(pk=organization.pk).name.startswith("<script>")
    client = Client()
    client.force_login(member.user)
    return client, me.ids


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_no_page_has_a_serious_problem(world, browse, live_server, viewport, scheme):
    client, ids = world
    problems = []
    page = browse(client, "/", viewport=viewport, color_scheme=scheme)
    late = LateScripts(page)
    for route in html_pages():
        page.console_errors.clear()
        page.requested_urls.clear()
        answer = late.goto(route.address(ids))
        if answer.status >= 500:
            problems.append((route.path, answer.status))
            continue
        expected = {400, 403, 404, 409}
        messages = [
            text for text in page.console_errors if not any(f"status of {status}" in text for status in expected)
        ]
        faults = [
            *(f"said {text}" for text in messages),
            *(f"asked {url}" for url in foreign(page, live_server)),
            *([f"{too_wide(page)} px too wide"] if too_wide(page) > 0 else []),
            *([] if is_right(page, scheme) else ["ground of the other scheme"]),
            *(["a script ran"] if page.title() == "hit" else []),
            *([] if page.locator("h1").count() == 1 else [f"{page.locator('h1').count()} h1"]),
            *violations(page),
            *_moved(late.shifts()),
        ]
        problems += [(route.path, fault) for fault in faults]
    assert problems == []


def test_every_page_is_readable_without_javascript(world, browse):
    client, ids = world
    page = browse(client, "/", java_script_enabled=False)
    unreadable = []
    for route in html_pages():
        page.goto(route.address(ids))
        if not page.locator("h1").is_visible() or len(page.locator("main").inner_text()) < 20:
            unreadable.append(route.path)
    assert unreadable == []


def _moved(shifts):
    """What of a page moved by itself, as lines."""
    if sum(shift["value"] for shift in shifts) >= MOST_SHIFT:
        yield from (f"moved {shift['value']:.4f}: {shift['moved']}" for shift in shifts)


def test_layout_shifts_are_detected(visitor, browse):
    late = LateScripts(browse(visitor(), "/"))
    late.goto("/tasks")
    assert late.shifts() == []
    late.page.evaluate(
        "document.querySelector('main').prepend(Object.assign(document.createElement('p'), { innerText: 'late' }))"
    )
    (shift,) = late.shifts()
    assert shift["value"] > MOST_SHIFT
    assert any("title" in moved for moved in shift["moved"])


def html_pages():
    """The readable pages without those that are text to download."""
    return [route for route in readable() if not route.path.endswith(":str")]
