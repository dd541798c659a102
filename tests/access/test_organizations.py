"""`/organizations`: their own admins name them and set what is kept; the operating one makes and suspends them."""

import pytest

from autotune.access.models import Organization, Role
from autotune.core import ids
from tests.conftest import Api
from tests.factories import OrganizationFactory


@pytest.fixture
def boss(api_for):
    return api_for(role="organization_admin")


def path_of(organization):
    return f"/organizations/{ids.encode('org', organization.pk)}"


def code(answer):
    return answer.status_code, answer.json()["code"]


def test_everybody_sees_their_own_and_operators_all(boss, admin_api):
    mine = boss.get("/organizations").json()
    assert [organization["id"] for organization in mine["organizations"]] == [ids.encode("org", boss.organization.pk)]
    assert mine["pagination"]["total"] == 1
    assert admin_api.get("/organizations").json()["pagination"]["total"] == Organization.objects.count() == 2
    assert boss.get(path_of(admin_api.organization)).status_code == 404
    assert admin_api.get(path_of(boss.organization)).json()["organization"]["operating"] is False


def test_only_operators_create_organizations(boss, admin_api):
    answer = admin_api.post("/organizations", {"name": "Third"})
    assert answer.status_code == 201
    assert answer.json()["organization"]["operating"] is False
    assert code(admin_api.post("/organizations", {"name": "Third"})) == (409, "name_taken")
    assert code(boss.post("/organizations", {"name": "Fourth"})) == (403, "forbidden")
    assert not Organization.objects.filter(name="Fourth").exists()


def test_an_admin_of_another_organization_cannot_create_one(api_for):
    """`admin` in another organization, or a role that may create: `all` is the operating one's."""
    far = api_for(role="admin", organization=OrganizationFactory())
    assert code(far.post("/organizations", {"name": "Fourth"})) == (403, "forbidden")


def test_name_and_retention_are_changed_member_by_member(boss):
    path = path_of(boss.organization)
    first = boss.patch(path, {"name": "New name", "retention": {"textDays": 30}}).json()["organization"]
    assert (first["name"], first["retention"]) == ("New name", {"textDays": 30, "scoreDays": None})
    second = boss.patch(path, {"retention": {"scoreDays": 400}}).json()["organization"]
    assert second["retention"] == {"textDays": 30, "scoreDays": 400}
    third = boss.patch(path, {"retention": {"textDays": None}}).json()["organization"]
    assert third["retention"] == {"textDays": None, "scoreDays": 400}


@pytest.mark.parametrize(
    "body",
    [
        {"retention": {"textDays": 0}}, {"retention": {"textDays": 1.5}}, {"retention": {"textDays": "30"}},
        {"retention": {"textDays": 36_501}}, {"retention": None}, {"retention": {"days": 3}}, {"name": "a\nb"},
        {"name": None}, {"operating": True}, {"suspended": "yes"},
    ],
)  # fmt: skip
def test_an_invalid_field_is_refused(boss, body):
    assert code(boss.patch(path_of(boss.organization), body)) == (400, "invalid_request")


def test_an_organization_suspends_neither_itself_nor_the_operating_one(boss, admin_api):
    assert code(boss.patch(path_of(boss.organization), {"suspended": False})) == (403, "forbidden")
    answer = admin_api.patch(path_of(admin_api.organization), {"suspended": True})
    assert code(answer) == (409, "operating_organization")
    assert admin_api.patch(path_of(boss.organization), {"suspended": True}).status_code == 200
    assert boss.get("/tasks").status_code == 401
    assert admin_api.patch(path_of(boss.organization), {"suspended": False}).status_code == 200
    assert boss.get("/tasks").status_code == 200


def test_retention_and_name_each_take_their_own_permission(boss, api_for):
    for resource, may, may_not in (
        ("retention", {"retention": {"textDays": 9}}, {"name": "x"}),
        ("organizations", {"name": "y"}, {"retention": {"textDays": 8}}),
    ):
        role = Role.objects.create(
            organization=boss.organization,
            name=resource,
            permissions=[{"resource": resource, "actions": ["read", "update"], "scope": "organization"}],
        )
        api = api_for(role=role, organization=boss.organization)
        assert api.patch(path_of(boss.organization), may).status_code == 200
        assert code(api.patch(path_of(boss.organization), may_not)) == (403, "forbidden")
        assert code(api.patch(path_of(boss.organization), {**may, **may_not})) == (403, "forbidden")
        assert [organization["name"] for organization in api.get("/organizations").json()["organizations"]]


def test_another_organization_is_not_found(boss):
    other = OrganizationFactory()
    for body in ({"name": "z"}, {"retention": {"textDays": 9}}, {}):
        assert boss.patch(path_of(other), body).status_code == 404
    assert Api().get("/organizations").status_code == 401
