"""Every page checks the visitor: anonymous, each role, and a member of another organization."""

import pytest
from django.test import Client

from autotune.access.models import Membership, Role, User
from tests.access.matrix import owned
from tests.factories import OrganizationFactory
from tools.page_routes import pages, readable

pytestmark = pytest.mark.django_db
OPEN = {"/", "/settings"}  # what Autotune is, for everybody; and an address that leads to another
ASKS_MORE = {
    ("grader_owner", "/reviews"),
    ("grader_owner", "/reviews/:rev"),
}  # whose prompts they are, owners do not see
ROLES = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin", "collector")


def test_every_route_of_a_page_checks_access():
    assert [page.path for page in pages() if page.needs is None and page.path not in OPEN] == []


def test_an_anonymous_visitor_is_sent_to_the_login_and_back():
    me = owned(OrganizationFactory(), "organization_admin")
    for page in readable():
        if page.path in OPEN:
            continue
        answer = Client().get(page.address(me.ids))
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/account/login"), page.path


def test_a_form_is_not_posted_without_a_session_or_its_token():
    me = owned(OrganizationFactory(), "organization_admin")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(_person(me))
    for page in pages():
        if "POST" in page.methods and page.path not in OPEN:
            assert Client().post(page.address(me.ids)).status_code == 302, page.path
            assert strict.post(page.address(me.ids)).status_code == 403, page.path


@pytest.mark.parametrize("role", ROLES)
def test_each_role_opens_its_pages_and_sees_nothing_of_others(role):
    organization, other = OrganizationFactory(), OrganizationFactory()
    me, stranger = owned(organization, role), owned(other, "organization_admin")
    client = Client()
    client.force_login(_person(me))
    allowed = {
        (entry["resource"], action)
        for entry in Role.objects.get(organization=None, name=role).permissions
        for action in entry["actions"]
    }
    for page in readable():
        if page.path in OPEN:
            continue
        answer = client.get(page.address(me.ids))
        may = (not page.needs or bool(allowed & set(page.needs))) and (role, page.path) not in ASKS_MORE
        assert answer.status_code in ((200, 302, 400, 404, 409) if may else (403,)), (page.path, answer.status_code)
        if page.kinds and may and role != "admin":
            foreign = client.get(page.address(stranger.ids))
            assert foreign.status_code in (404, 403), (page.path, foreign.status_code)


def _person(whose):
    organization = whose.ids["member"]
    return next(membership.user for membership in Membership.objects.all() if membership.public_id == organization)


def test_the_person_of_a_world_is_found():
    me = owned(OrganizationFactory(), "reviewer")
    assert isinstance(_person(me), User)
