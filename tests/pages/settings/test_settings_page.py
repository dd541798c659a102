"""The first page: the organization, and what can be set where."""

import pytest

from autotune.access.models import AuditEvent, Organization
from tests.factories import OrganizationFactory, public

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
HOME = "/settings/"


def test_an_admin_renames_the_organization(visitor):
    client = visitor()
    answer = client.post(HOME, {"name": "Northwind"})
    assert (answer.status_code, answer["Location"]) == (302, HOME)
    client.organization.refresh_from_db()
    assert client.organization.name == "Northwind"
    event = AuditEvent.objects.filter(method="POST").latest("at")
    assert (event.action, event.object_id, event.fields) == (
        "organizations.update",
        public("org", client.organization),
        ["name"],
    )


def test_a_taken_name_is_refused_and_the_form_keeps_its_input(visitor):
    client = visitor()
    OrganizationFactory(name="Taken")
    answer = client.post(HOME, {"name": "Taken"})
    assert answer.status_code == 400
    assert 'value="Taken"' in answer.content.decode()
    assert "An organization with this name exists already." in answer.content.decode()
    assert Organization.objects.filter(name="Taken").count() == 1


@pytest.mark.parametrize("role", ["training_operator", "grader_owner", "reviewer"])
def test_others_see_the_name_and_no_form(visitor, role):
    client = visitor(role)
    assert "Rename the organization" not in client.get(HOME).content.decode()
    assert client.post(HOME, {"name": "Mine"}).status_code == 403
    client.organization.refresh_from_db()
    assert client.organization.name != "Mine"


def test_each_role_sees_the_sections_that_it_may_open(visitor):
    body = visitor("reviewer").get(HOME).content.decode()
    assert "/settings/keys" in body
    assert "/settings/members" not in body
    assert "/account" in body


def test_a_hostile_name_is_text(visitor):
    client = visitor(organization=OrganizationFactory(name=HOSTILE))
    body = client.get(HOME).content.decode()
    assert "<script>alert" not in body
    assert "&lt;script&gt;alert(1)" in body


def test_operators_create_and_suspend_organizations(visitor, operating):
    client = visitor("admin", operating)
    answer = client.post("/settings/organizations/new", {"name": "Second"})
    organization = Organization.objects.get(name="Second")
    assert answer["Location"] == f"/settings/organizations/{public('org', organization)}"
    client.post(f"{answer['Location']}/suspend", {"suspended": "yes"})
    organization.refresh_from_db()
    assert organization.suspended
    client.post(f"{answer['Location']}/suspend", {"suspended": "no"})
    organization.refresh_from_db()
    assert not organization.suspended
    assert "Second" in client.get("/settings/organizations").content.decode()


def test_nobody_else_reaches_another_organization(visitor):
    client, other = visitor(), OrganizationFactory()
    path = f"/settings/organizations/{public('org', other)}"
    assert client.get(path).status_code == 404
    assert client.post(path, {"name": "Mine"}).status_code == 404
    client.post(f"{path}/suspend", {"suspended": "yes"})
    other.refresh_from_db()
    assert (other.suspended, other.name == "Mine") == (False, False)
    assert other.name not in client.get("/settings/organizations").content.decode()


@pytest.mark.parametrize("may", [{"organizations": ("organization", "read")}, {"retention": ("organization", "read")}])
def test_the_retention_of_texts_is_shown_to_roles_that_may_read_it(visitor, role_of, may):
    organization = OrganizationFactory(text_days=4321)
    page = visitor(role_of(organization, "reader", **may), organization).get(HOME).content.decode()
    assert "4,321 days" in page


def test_others_read_only_the_name_and_the_id(visitor, role_of, operating, api_for):
    type(operating).objects.filter(pk=operating.pk).update(text_days=4321)
    role = role_of(operating, tasks=("organization", "read"))
    page = visitor(role, operating).get(HOME).content.decode().partition("<main")[2]
    assert public("org", operating) in page
    for hidden in ("4,321", "is kept", "are kept", "runs this installation", "<dt>Created"):
        assert hidden not in page, hidden
    assert api_for(organization=operating, role=role).get("/organizations").status_code == 403
