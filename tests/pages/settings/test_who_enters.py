"""Which role enters which page of the settings, and what it can send."""

import pytest
from django.test import Client

from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db
ADMIN = {"organization_admin", "admin"}
COLLECTOR = {"collector"}  # is for keys inside applications, and enters only what is open to every member
EVERYBODY = {*ADMIN, "training_operator", "grader_owner", "reviewer"}
PAGES = {
    "/settings/": EVERYBODY | COLLECTOR,
    "/settings/organizations": ADMIN,
    "/settings/organizations/new": {"admin"},
    "/settings/members": ADMIN,
    "/settings/members/invite": ADMIN,
    "/settings/roles": ADMIN,
    "/settings/roles/new": ADMIN,
    "/settings/keys": EVERYBODY,
    "/settings/keys/new": EVERYBODY,
    "/settings/webhooks": EVERYBODY - {"reviewer"},
    "/settings/webhooks/new": EVERYBODY - {"reviewer"},
    "/settings/retention": ADMIN,
    "/settings/retention/holds": ADMIN,
    "/settings/retention/holds/new": ADMIN,
    "/settings/retention/erasures": ADMIN,
    "/settings/retention/erasures/new": ADMIN,
    "/settings/audit": ADMIN,
}


@pytest.mark.parametrize("role", sorted(EVERYBODY | COLLECTOR))
def test_each_page_is_for_the_roles_that_may_read_what_it_shows(visitor, operating, role):
    client = visitor(role, operating if role == "admin" else None)
    seen = {path: client.get(path).status_code for path in PAGES}
    assert seen == {path: 200 if role in roles else 403 for path, roles in PAGES.items()}


def test_a_stranger_is_sent_to_the_login(db):
    for path in PAGES:
        assert Client().get(path)["Location"].startswith("/account/login"), path


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in PAGES
        if path.endswith("new") or path in {"/settings/", "/settings/members/invite", "/settings/retention"}
    ],
)
def test_a_form_without_its_token_is_refused(visitor, path):
    client = visitor()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(client.user)
    assert strict.post(path, {"name": "x"}).status_code == 403


def test_responses_are_never_cached(visitor):
    client = visitor()
    for path in PAGES:
        if "organizations" not in path:
            assert "no-store" in client.get(path)["Cache-Control"], path


@pytest.mark.parametrize("path", sorted(path for path, roles in PAGES.items() if "organization_admin" in roles))
def test_a_page_takes_few_queries(visitor, django_assert_max_num_queries, path):
    client = visitor(organization=OrganizationFactory())
    client.get(path)
    with django_assert_max_num_queries(20):
        assert client.get(path).status_code == 200
