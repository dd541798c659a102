"""Roles that were stored before `workflow_runs` and the resources of features to come: they keep what they allowed."""

import importlib

import pytest
from django.apps import apps

from autotune.access.models import Membership, Role
from autotune.access.principal import granted
from autotune.access.roles import builtin
from tests.conftest import Api
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def migrate():
    """Run the migration's function on the roles that are stored."""
    migration = importlib.import_module("autotune.access.migrations.0011_runs")
    return lambda: migration.write(apps, None)


def entry(resource, scope, *actions):
    return {"resource": resource, "actions": list(actions), "scope": scope}


def stored(permissions, name="of before", organization=None):
    return Role.objects.create(
        organization=organization or OrganizationFactory(), name=name, permissions=permissions
    )  # fmt: skip


def test_a_role_that_named_runs_allows_the_same_on_workflow_runs(migrate):
    role = stored(
        [
            entry("runs", "own", "read"),
            entry("tasks", "organization", "read"),
            entry("runs", "organization", "update", "delete"),
        ]
    )
    migrate()
    role.refresh_from_db()
    assert role.permissions == [
        entry("workflow_runs", "own", "read"),
        entry("tasks", "organization", "read"),
        entry("workflow_runs", "organization", "update", "delete"),
    ]
    assert builtin.fault(role.permissions) is None


def test_holders_of_such_a_role_can_still_use_it(migrate):
    role = stored([entry("runs", "organization", "read")])
    holder = Api(ApiKeyFactory(organization=role.organization, role=role).text)
    assert holder.get("/workflow-runs").status_code == 403
    migrate()
    assert holder.get("/workflow-runs").status_code == 200
    assert holder.post("/workflow-runs/retry", {"code": "timeout"}).status_code == 403
    assert holder.get("/tasks").status_code == 403


@pytest.mark.parametrize(
    "permissions",
    [
        [],
        [entry("workflow_runs", "own", "read")],
        [entry("evaluations", "organization", "create", "read")],  # not widened to datasets and experiments
        [entry("feedback", "own", "read")],
        [entry("tasks", "all", "read")] * builtin.MAX_PERMISSIONS,
    ],
)
def test_other_roles_stay_as_they_are(migrate, permissions):
    role = stored(permissions)
    migrate()
    migrate()
    role.refresh_from_db()
    assert role.permissions == permissions


def test_the_built_in_roles_are_written_and_not_doubled(migrate):
    Role.objects.filter(organization=None, name="collector").delete()
    Role.objects.filter(organization=None, name="reviewer").update(permissions=[entry("runs", "organization", "read")])
    migrate()
    roles = Role.objects.filter(organization=None)
    assert sorted(roles.values_list("name", flat=True)) == sorted(builtin.BUILT_IN)
    for role in roles:
        assert granted(role.permissions) == granted(builtin.permissions(role.name))


def test_a_custom_role_called_collector_gets_another_name_and_its_members_keep_it(migrate):
    permissions = [entry("tasks", "organization", "read")]
    alone = stored(permissions, name="collector")
    crowded = stored(permissions, name="collector")
    stored([], name="collector (custom)", organization=crowded.organization)
    member = Membership.objects.create(organization=alone.organization, user=UserFactory(), role=alone)
    migrate()
    for role, name in ((alone, "collector (custom)"), (crowded, "collector (custom 2)")):
        role.refresh_from_db()
        assert (role.name, role.permissions) == (name, permissions)
    member.refresh_from_db()
    assert member.role == alone
    boss = Api(ApiKeyFactory(organization=alone.organization, role="organization_admin").text)
    key = boss.post("/api-keys", {"name": "app", "role": "collector"}).json()["apiKey"]
    assert Role.objects.get(name="collector").organization is None
    assert key["role"] == "collector"
