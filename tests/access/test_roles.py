"""`/roles`: an organization's own roles beside the built-in ones, which nobody changes."""

import pytest

from autotune.access.models import ApiKey, Membership, Role
from autotune.access.roles import builtin
from autotune.access.roles.builtin import RESOURCES
from autotune.core import ids
from tests.conftest import Api
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory

READS_TASKS = [{"resource": "tasks", "actions": ["read"], "scope": "organization"}]
BODY = {"name": "task reader", "permissions": READS_TASKS}


@pytest.fixture
def boss(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task_reader(boss):
    return boss.post("/roles", {**BODY, "description": "Sees what is asked."}).json()["role"]


def code(answer):
    return answer.status_code, answer.json()["code"]


def fields(answer):
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


def test_a_role_is_made_shown_changed_and_deleted(boss, task_reader):
    path = f"/roles/{task_reader['id']}"
    assert (task_reader["name"], task_reader["builtIn"], task_reader["permissions"]) == (
        "task reader",
        False,
        READS_TASKS,
    )
    assert task_reader["description"] == "Sees what is asked."
    more = [{"resource": "scores", "actions": ["read", "delete"], "scope": "own"}]
    changed = boss.patch(path, {"name": "scores", "permissions": more, "description": None}).json()["role"]
    assert (changed["name"], changed["permissions"], changed["description"]) == ("scores", more, None)
    assert boss.get(path).json()["role"] == changed
    assert boss.delete(path).status_code == 204
    assert boss.get(path).status_code == 404


def test_the_list_has_the_built_in_ones_and_ones_own(boss, task_reader, api_for):
    other = api_for(role="organization_admin")
    other.post("/roles", {**BODY, "name": "theirs"})
    listed = {role["name"]: role["builtIn"] for role in boss.get("/roles").json()["roles"]}
    assert listed == {**dict.fromkeys(builtin.BUILT_IN, True), "task reader": False}


def test_a_role_allows_only_its_permissions(boss, task_reader, api_for):
    holder = api_for(role=Role.objects.get(name="task reader"), organization=boss.organization)
    assert holder.get("/tasks").status_code == 200
    for path in ("/scores", "/graders", "/roles", "/members", "/api-keys", "/organizations"):
        assert holder.get(path).status_code == 403, path
    boss.patch(f"/roles/{task_reader['id']}", {"permissions": []})
    assert holder.get("/tasks").status_code == 403


def test_every_resource_can_be_named(admin_api):
    entries = [
        {"resource": resource, "actions": ["read"], "scope": "own"}
        for resource in RESOURCES
        if resource != "listed_graders"
    ]
    answer = admin_api.post("/roles", {"name": "all of it", "permissions": entries})
    assert answer.status_code == 201
    holder = Api(ApiKeyFactory(organization=admin_api.organization, role=Role.objects.get(name="all of it")).text)
    for path in ("/tasks", "/scores", "/graders", "/roles", "/members", "/api-keys", "/organizations", "/webhooks"):
        assert holder.get(path).status_code == 200, path  # `own` where nobody owns is nothing, and no failure
    assert holder.get("/organizations").json()["organizations"] == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": ""}, ("/name", "invalid_length")),
        ({"name": "a\u2028b"}, ("/name", "invalid_format")),
        ({"name": "role_01jd0000000000000000000000"}, ("/name", "invalid_format")),
        (
            {"permissions": [{**READS_TASKS[0], "resource": "everything"}]},
            ("/permissions/0/resource", "invalid_choice"),
        ),
        ({"permissions": [{**READS_TASKS[0], "actions": ["own"]}]}, ("/permissions/0/actions/0", "invalid_choice")),
        ({"permissions": [{**READS_TASKS[0], "actions": []}]}, ("/permissions/0/actions", "invalid_length")),
        ({"permissions": [{**READS_TASKS[0], "actions": ["read", "read"]}]}, ("/permissions/0", "invalid_choice")),
        ({"permissions": [{**READS_TASKS[0], "scope": "world"}]}, ("/permissions/0/scope", "invalid_choice")),
        ({"permissions": READS_TASKS * 201}, ("/permissions", "invalid_length")),
        ({"builtIn": True}, ("/builtIn", "unknown_field")),
        ({"organizationId": None}, ("/organizationId", "unknown_field")),
    ],
)
def test_an_invalid_field_is_named(boss, change, expected):
    answer = boss.post("/roles", {**BODY, **change})
    assert (answer.status_code, fields(answer)) == (400, [expected])


def test_the_old_name_of_a_resource_is_refused_with_the_new_one(boss, task_reader):
    body = {"permissions": [*READS_TASKS, {"resource": "runs", "actions": ["read"], "scope": "organization"}]}
    for answer in (
        boss.post("/roles", {**BODY, "name": "old", **body}),
        boss.patch(f"/roles/{task_reader['id']}", body),
    ):
        assert (answer.status_code, fields(answer)) == (400, [("/permissions/1/resource", "invalid_choice")])
        detail = answer.json()["errors"][0]["detail"]
        assert detail == "The resource runs is now called workflow_runs; enter workflow_runs."
    assert boss.get(f"/roles/{task_reader['id']}").json()["role"] == task_reader


@pytest.mark.parametrize("resource", ["Runs", "run", "workflow-runs", "workflowRuns", "", "graders ", "everything"])
def test_an_unknown_resource_is_answered_with_the_list_of_resources(boss, resource):
    answer = boss.post("/roles", {**BODY, "permissions": [{**READS_TASKS[0], "resource": resource}]})
    assert (answer.status_code, fields(answer)) == (400, [("/permissions/0/resource", "invalid_choice")])
    detail = answer.json()["errors"][0]["detail"]
    assert all(name in detail for name in (*RESOURCES, "graders"))


@pytest.mark.parametrize("resource", [None, 1, ["tasks"], {}])
def test_a_resource_that_is_no_text_is_refused(boss, resource):
    answer = boss.post("/roles", {**BODY, "permissions": [{**READS_TASKS[0], "resource": resource}]})
    assert (answer.status_code, fields(answer)) == (400, [("/permissions/0/resource", "wrong_type")])


# --- short names, and resources of features to come -----------------------------------------------------------------


def test_graders_is_short_for_both_kinds(boss, api_for):
    entries = [*READS_TASKS, {"resource": "graders", "actions": ["read", "update"], "scope": "own"}]
    role = boss.post("/roles", {"name": "judge", "permissions": entries}).json()["role"]
    assert role["permissions"] == [
        *READS_TASKS,
        {"resource": "endpoint_graders", "actions": ["read", "update"], "scope": "own"},
        {"resource": "rubric_graders", "actions": ["read", "update"], "scope": "own"},
    ]
    holder = api_for(role=Role.objects.get(name="judge"), organization=boss.organization)
    assert holder.get("/graders").status_code == 200
    assert holder.post("/graders", {}).status_code == 403


def test_the_short_name_graders_grants_nobody_more_than_they_have(boss, task_reader):
    entries = [{"resource": "graders", "actions": ["delete"], "scope": "all"}]
    assert code(boss.post("/roles", {"name": "judge", "permissions": entries})) == (403, "beyond_own_role")
    assert code(boss.patch(f"/roles/{task_reader['id']}", {"permissions": entries})) == (403, "beyond_own_role")


def test_short_names_do_not_make_a_role_too_large(boss):
    entries = [{"resource": "graders", "actions": ["read"], "scope": "own"}]
    full = boss.post("/roles", {"name": "full", "permissions": entries * (builtin.MAX_PERMISSIONS // 2)})
    assert (full.status_code, len(full.json()["role"]["permissions"])) == (201, builtin.MAX_PERMISSIONS)
    answer = boss.post(
        "/roles", {"name": "over", "permissions": entries * (builtin.MAX_PERMISSIONS // 2) + READS_TASKS}
    )
    assert (answer.status_code, fields(answer)) == (400, [("/permissions", "invalid_length")])
    assert not Role.objects.filter(name="over").exists()


@pytest.mark.parametrize("resource", sorted(builtin.COMING))
def test_a_resource_without_a_feature_can_be_granted_already(boss, resource):
    permissions = [{"resource": resource, "actions": ["read"], "scope": "own"}]
    answer = boss.post("/roles", {"name": "early", "permissions": permissions})
    assert (answer.status_code, answer.json()["role"]["permissions"]) == (201, permissions)


def test_a_key_of_a_collector_can_do_nothing_yet(boss):
    key = boss.post("/api-keys", {"name": "app", "role": "collector"}).json()["secret"]
    for path in ("/tasks", "/completions", "/scores", "/graders", "/api-keys", "/workflow-runs", "/organizations"):
        assert Api(key).get(path).status_code == 403, path
    assert Api(key).post("/api-keys", {"name": "another", "role": "collector"}).status_code == 403


@pytest.mark.parametrize("name", ["task reader", "admin", "reviewer", "collector"])
def test_names_of_own_and_built_in_roles_are_taken(boss, task_reader, name):
    assert code(boss.post("/roles", {**BODY, "name": name})) == (409, "name_taken")
    other = boss.post("/roles", {**BODY, "name": "another"}).json()["role"]
    assert code(boss.patch(f"/roles/{other['id']}", {"name": name})) == (409, "name_taken")


@pytest.mark.parametrize("name", list(builtin.BUILT_IN))
def test_the_built_in_roles_are_read_only(admin_api, name):
    path = f"/roles/{ids.encode('role', Role.objects.get(organization=None, name=name).pk)}"
    assert admin_api.get(path).json()["role"]["builtIn"] is True
    assert code(admin_api.patch(path, {"permissions": []})) == (403, "built_in_role")
    assert code(admin_api.delete(path)) == (403, "built_in_role")


# --- no climbing ----------------------------------------------------------------------------------------------------

BEYOND = [
    [{"resource": "tasks", "actions": ["read"], "scope": "all"}],
    [{"resource": "organizations", "actions": ["create"], "scope": "organization"}],
    [{"resource": "audit", "actions": ["delete"], "scope": "organization"}],
    [*READS_TASKS, {"resource": "model_calls", "actions": ["read", "create"], "scope": "own"}],
]


@pytest.mark.parametrize("permissions", BEYOND)
def test_nobody_creates_or_extends_a_role_beyond_their_own(boss, task_reader, permissions):
    assert code(boss.post("/roles", {"name": "more", "permissions": permissions})) == (403, "beyond_own_role")
    path = f"/roles/{task_reader['id']}"
    assert code(boss.patch(path, {"permissions": permissions})) == (403, "beyond_own_role")
    assert boss.get(path).json()["role"]["permissions"] == READS_TASKS


@pytest.fixture
def clerk(boss, api_for):
    """Who may do everything about roles, members and keys, and nothing else."""
    entries = [
        {"resource": resource, "actions": list(builtin.EVERYTHING), "scope": "organization"}
        for resource in ("roles", "members", "keys")
    ]
    role = Role.objects.create(organization=boss.organization, name="clerk", permissions=entries)
    return api_for(role=role, organization=boss.organization)


def test_a_role_above_ones_own_cannot_be_restricted_or_deleted(clerk, task_reader):
    path = f"/roles/{task_reader['id']}"
    for body in ({"permissions": []}, {"name": "mine"}):
        assert code(clerk.patch(path, body)) == (403, "beyond_own_role")
    assert code(clerk.delete(path)) == (403, "beyond_own_role")


def test_nobody_changes_what_their_own_role_allows(clerk):
    own = f"/roles/{ids.encode('role', Role.objects.get(name='clerk').pk)}"
    assert code(clerk.patch(own, {"permissions": READS_TASKS})) == (403, "own_role")
    assert code(clerk.patch(own, {"permissions": []})) == (403, "own_role")
    assert clerk.patch(own, {"name": "secretary"}).status_code == 200


def test_a_restricted_key_cannot_extend_the_role_of_its_owner(clerk, boss):
    """The key's role is another one than the person's; both are their own."""
    weak_role = Role.objects.create(
        organization=boss.organization,
        name="roles only",
        permissions=[{"resource": "roles", "actions": ["read", "update"], "scope": "organization"}],
    )
    weak = Api(ApiKeyFactory(organization=boss.organization, user=clerk.user, role=weak_role).text)
    for name in ("clerk", "roles only"):
        path = f"/roles/{ids.encode('role', Role.objects.get(name=name).pk)}"
        assert weak.patch(path, {"permissions": []}).status_code == 403
    assert code(weak.post("/roles", BODY)) == (403, "forbidden")


def test_the_last_role_that_manages_members_keeps_that_permission(api_for):
    organization = OrganizationFactory()
    entries = builtin.permissions("organization_admin")
    chiefs = Role.objects.create(organization=organization, name="chief", permissions=entries)
    Membership.objects.create(organization=organization, user=UserFactory(), role=chiefs)
    operator = Api(ApiKeyFactory(organization=OrganizationFactory(operating=True), role="admin").text)
    path = f"/roles/{ids.encode('role', chiefs.pk)}"
    assert code(operator.patch(path, {"permissions": READS_TASKS})) == (409, "last_admin")
    api_for(organization=organization, role="organization_admin")
    assert operator.patch(path, {"permissions": READS_TASKS}).status_code == 200


# --- in use ---------------------------------------------------------------------------------------------------------


def test_a_role_in_use_cannot_be_deleted(boss, task_reader):
    role = Role.objects.get(name="task reader")
    path = f"/roles/{task_reader['id']}"
    key = ApiKeyFactory(organization=boss.organization, user=boss.user, role=role)
    assert code(boss.delete(path)) == (409, "in_use")
    assert boss.delete(f"/api-keys/{key.public_id}").status_code == 204
    member = Membership.objects.create(organization=boss.organization, user=UserFactory(), role=role)
    assert code(boss.delete(path)) == (409, "in_use")
    member.delete()
    assert boss.delete(path).status_code == 204
    ended = boss.get(f"/api-keys/{key.public_id}").json()["apiKey"]
    assert (ended["role"], ended["roleId"]) == (None, None)
    assert Api(key.text).get("/tasks").status_code == 401
    assert ApiKey.objects.get(pk=key.pk).revoked_at is not None


def test_roles_of_another_organization_are_not_found(boss, api_for):
    theirs = api_for(role="organization_admin").post("/roles", BODY).json()["role"]
    for method in ("GET", "PATCH", "DELETE"):
        body = {"name": "x"} if method == "PATCH" else None
        assert boss.call(method, f"/roles/{theirs['id']}", body).status_code == 404
