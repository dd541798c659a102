"""Roles: to read as a matrix, and the organization's own to make, change and delete."""

import re

import pytest

from autotune.access.models import AuditEvent, Membership, Role
from autotune.access.pages import matrix
from autotune.access.roles import builtin
from autotune.access.roles.builtin import COMING, OFFERED, RESOURCES
from tests.factories import OrganizationFactory, UserFactory, public

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
LIST, NEW = "/settings/roles", "/settings/roles/new"


def own_role(organization, name="ours", **may):
    permissions = [
        {"resource": resource, "scope": scope, "actions": actions} for resource, (scope, *actions) in may.items()
    ]
    return Role.objects.create(organization=organization, name=name, permissions=permissions)


def page_of(role):
    return f"{LIST}/{public('role', role)}"


def form(name, *rows):
    """What the editor sends: (resource, scope, actions) for each row."""
    data = {"name": name, "description": ""}
    for place, (resource, scope, actions) in enumerate(rows):
        data |= {f"resource-{place}": resource, f"scope-{place}": scope, f"do-{place}": actions}
    return data


def test_every_resource_with_a_feature_is_in_the_matrix_once():
    shown = [resource for resources in matrix.AREAS.values() for resource in resources]
    assert sorted(shown) == sorted(OFFERED)
    assert {*OFFERED, *COMING} == set(RESOURCES)


def test_the_editor_offers_no_resource_without_a_feature(visitor):
    body = visitor().get(NEW).content.decode()
    offered = re.findall(r'name="resource-\d+" value="(\w+)"', body)
    assert offered == [resource for resources in matrix.AREAS.values() for resource in resources]
    assert "features that this version does not have" not in body


EARLY = [
    {"resource": "evaluations", "actions": ["create", "read"], "scope": "organization"},
    {"resource": "tasks", "actions": ["read"], "scope": "organization"},
    {"resource": "evaluations", "actions": ["delete"], "scope": "own"},
]
EARLY_VALUES = ["evaluations:organization:create,read", "evaluations:own:delete"]


def test_rights_of_features_to_come_are_shown_and_survive_a_change_of_the_role(visitor):
    client = visitor()
    role = Role.objects.create(organization=client.organization, name="early", permissions=EARLY)
    page = client.get(page_of(role)).content.decode()
    assert "evaluations: create, read (organization)" in page
    editor = client.get(f"{page_of(role)}/edit").content.decode()
    assert re.findall(r'name="coming" value="([^"]+)" checked', editor) == EARLY_VALUES
    rows = form("early", ("scores", "organization", ["read"]))
    client.post(f"{page_of(role)}/edit", {**rows, "coming": EARLY_VALUES})
    role.refresh_from_db()
    scores = {"resource": "scores", "actions": ["read"], "scope": "organization"}
    assert role.permissions == [scores, EARLY[0], EARLY[2]]


def test_an_unchecked_right_of_a_feature_to_come_is_removed(visitor):
    client = visitor()
    role = Role.objects.create(organization=client.organization, name="early", permissions=EARLY)
    client.post(f"{page_of(role)}/edit", {**form("early"), "coming": EARLY_VALUES[1:]})
    role.refresh_from_db()
    assert role.permissions == [EARLY[2]]


def test_a_copy_of_a_built_in_role_has_its_rights_of_features_to_come(visitor):
    client = visitor()
    reviewer = Role.objects.get(organization=None, name="reviewer")
    body = client.get(NEW, {"like": public("role", reviewer)}).content.decode()
    values = re.findall(r'name="coming" value="([^"]+)" checked', body)
    assert values == [entry.value for entry in matrix.coming(builtin.permissions("reviewer"))]
    client.post(NEW, {**form("copy"), "coming": values})
    copied = Role.objects.get(name="copy").permissions
    assert copied == [entry for entry in builtin.permissions("reviewer") if entry["resource"] in COMING]


@pytest.mark.parametrize(
    "value", ["", "evaluations", "evaluations:own:", "evaluations:all:read", "runs:own:read", ":::"]
)
def test_a_forged_right_of_a_feature_to_come_is_refused(visitor, value):
    answer = visitor().post(NEW, {**form("odd"), "coming": [value]})
    assert answer.status_code == 400
    assert not Role.objects.filter(name="odd").exists()


def test_a_refused_form_keeps_rights_of_features_to_come(visitor):
    rows = form("reviewer", ("tasks", "own", ["read"]))  # a name that is taken
    body = visitor().post(NEW, {**rows, "coming": EARLY_VALUES[:1]}).content.decode()
    assert re.findall(r'name="coming" value="([^"]+)" checked', body) == EARLY_VALUES[:1]


def test_a_built_in_role_is_read_as_a_matrix(visitor):
    role = Role.objects.get(organization=None, name="training_operator")
    body = visitor().get(page_of(role)).content.decode()
    assert "training operator" in body
    row = body[body.index(">API keys<small>") :]
    assert row[: row.index("</tr>")].count('<span class="scope own">own</span>') == 4
    assert "Change</a>" not in body


def test_a_built_in_role_cannot_be_changed(visitor, operating):
    role = Role.objects.get(organization=None, name="reviewer")
    client = visitor("admin", operating)
    for what in ("/edit", "/delete"):
        answer = client.post(f"{page_of(role)}{what}", form("mine"))
        assert (answer.status_code, "Built-in roles cannot be changed" in answer.content.decode()) == (403, True)


def test_a_role_is_created_with_the_ticked_permissions(visitor):
    client = visitor()
    rows = (("scores", "organization", ["read"]), ("keys", "own", ["create", "read"]), ("tasks", "", []))
    answer = client.post(NEW, form("auditor", *rows))
    role = Role.objects.get(organization=client.organization)
    assert answer["Location"] == page_of(role)
    assert role.permissions == [
        {"resource": "scores", "actions": ["read"], "scope": "organization"},
        {"resource": "keys", "actions": ["create", "read"], "scope": "own"},
    ]
    assert AuditEvent.objects.filter(action="roles.create", object_id=public("role", role), method="POST").exists()


def test_nobody_grants_what_they_lack_and_the_form_keeps_the_ticks(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, roles=("organization", "create", "read")), organization)
    answer = client.post(NEW, form("above", ("members", "organization", ["delete"])))
    assert answer.status_code == 400
    body = answer.content.decode()
    assert "The role little has fewer rights than this role." in body
    row = body[body.index('value="members"') :]
    assert row[: row.index("</tr>")].count("checked") == 1
    assert not Role.objects.filter(name="above").exists()


def test_permissions_that_the_person_lacks_are_marked(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, roles=("organization", "create", "read")), organization)
    body = client.get(NEW).content.decode()
    assert "delete members (your own role may not)" in body
    assert "read roles (your own role may not)" not in body


@pytest.mark.parametrize("row", [("tasks", "organization", []), ("tasks", "", ["read"])])
def test_an_incomplete_permission_is_reported(visitor, row):
    answer = visitor().post(NEW, form("half", row))
    assert answer.status_code == 400
    assert "Choose both a scope and at least one action, or neither: tasks." in answer.content.decode()


@pytest.mark.parametrize(
    "row", [("nonsense", "organization", ["read"]), ("tasks", "galaxy", ["read"]), ("tasks", "own", ["fly"])]
)
def test_an_invalid_permission_is_refused(visitor, row):
    assert visitor().post(NEW, form("odd", row)).status_code == 400
    assert not Role.objects.filter(name="odd").exists()


def test_a_taken_name_is_refused(visitor):
    answer = visitor().post(NEW, form("reviewer", ("tasks", "own", ["read"])))
    assert "A role with this name exists already." in answer.content.decode()


def test_a_role_with_two_scopes_of_one_resource_is_edited_whole(visitor):
    client = visitor()
    two = [
        {"resource": "tasks", "actions": ["read"], "scope": "organization"},
        {"resource": "tasks", "actions": ["update"], "scope": "own"},
    ]
    role = Role.objects.create(organization=client.organization, name="two", permissions=two)
    body = client.get(f"{page_of(role)}/edit").content.decode()
    assert body.count('value="tasks"') == 2
    rows = [(permission["resource"], permission["scope"], permission["actions"]) for permission in two]
    client.post(f"{page_of(role)}/edit", form("two", *rows))
    role.refresh_from_db()
    assert role.permissions == two


def test_a_role_is_changed_for_all_who_hold_it(visitor):
    client = visitor()
    role = own_role(client.organization, tasks=("organization", "read"))
    answer = client.post(f"{page_of(role)}/edit", form("renamed", ("scores", "organization", ["read"])))
    assert answer["Location"] == page_of(role)
    role.refresh_from_db()
    assert (role.name, role.permissions[0]["resource"]) == ("renamed", "scores")


def test_nobody_changes_what_their_own_role_allows(visitor, role_of):
    organization = OrganizationFactory()
    role = role_of(organization, roles=("organization", "read", "update"))
    client = visitor(role, organization)
    answer = client.post(f"{page_of(role)}/edit", form("little", ("roles", "organization", ["read"])))
    assert answer.status_code == 400
    assert "You cannot change what your own role allows." in answer.content.decode()


def test_a_new_role_can_copy_the_permissions_of_another(visitor):
    role = Role.objects.get(organization=None, name="reviewer")
    body = visitor().get(NEW, {"like": public("role", role)}).content.decode()
    row = body[body.index('value="reviews"') :]
    assert row[: row.index("</tr>")].count("checked") == 3


def test_only_an_unused_role_can_be_deleted(visitor):
    client = visitor()
    role = own_role(client.organization, tasks=("organization", "read"))
    held = Membership.objects.create(organization=client.organization, user=UserFactory(), role=role)
    answer = client.post(f"{page_of(role)}/delete", follow=True)
    assert "Give them another one first." in answer.content.decode()
    held.delete()
    assert client.post(f"{page_of(role)}/delete")["Location"] == LIST
    assert not Role.objects.filter(pk=role.pk).exists()


def test_a_role_of_another_organization_is_not_found(visitor):
    client, role = visitor(), own_role(OrganizationFactory(), name="their secret role", tasks=("own", "read"))
    assert "their secret role" not in client.get(LIST).content.decode()
    for path in (page_of(role), f"{page_of(role)}/edit"):
        assert client.get(path).status_code == 404
    for what in ("/edit", "/delete"):
        assert client.post(f"{page_of(role)}{what}", form("mine")).status_code == 404
    assert "checked" not in client.get(NEW, {"like": public("role", role)}).content.decode()


def test_a_read_only_role_sees_no_forms(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, roles=("organization", "read")), organization)
    role = own_role(organization, tasks=("organization", "read"))
    body = client.get(LIST).content.decode() + client.get(page_of(role)).content.decode()
    for word in ("Create a role", "Copy the role", "Change the role</a>", "Delete"):
        assert word not in body
    for path in (NEW, f"{page_of(role)}/edit", f"{page_of(role)}/delete"):
        assert client.post(path, form("mine")).status_code == 403


def test_hostile_names_are_text(visitor):
    client = visitor()
    role = Role.objects.create(organization=client.organization, name=HOSTILE[:64], description=HOSTILE)
    for path in (LIST, page_of(role), f"{page_of(role)}/edit"):
        assert "<script>alert" not in client.get(path).content.decode()
