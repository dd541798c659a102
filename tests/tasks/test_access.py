"""Who may do what with tasks."""

import pytest

from autotune.access.models import Role
from tasks.models import Task
from tests.conftest import Api
from tests.factories import GraderFactory, TaskFactory, public


@pytest.fixture
def task(db):
    return TaskFactory(name="Mine")


def calls(api, task):
    grader = GraderFactory(organization=task.organization)
    path = f"/tasks/{task.public_id}"
    return {
        "create": api.post("/tasks", {"name": "N", "promptTemplate": "x", "graderId": public("grader", grader)}),
        "list": api.get("/tasks"),
        "versions": api.get(f"{path}/versions"),
        "patch": api.patch(path, {"name": "Renamed"}),
        "archive": api.delete(f"{path}?archive=true"),
        "delete": api.delete(path),
    }


def statuses(api, task):
    return {name: answer.status_code for name, answer in calls(api, task).items()}


def test_without_a_key_every_operation_is_401(task):
    assert set(statuses(Api(), task).values()) == {401}
    assert set(statuses(Api("at_live_wrong"), task).values()) == {401}
    assert Task.objects.get().name == "Mine"


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("organization_admin", (201, 200, 200, 200, 204, 204)),
        ("training_operator", (201, 200, 200, 200, 403, 403)),
        ("reviewer", (403, 200, 200, 403, 403, 403)),
        ("grader_owner", (403, 403, 403, 403, 403, 403)),
        ("admin", (201, 200, 200, 200, 204, 204)),
    ],
)
def test_a_role_does_what_the_table_says(api_for, task, role, expected):
    assert tuple(statuses(api_for(organization=task.organization, role=role), task).values()) == expected


@pytest.mark.parametrize("role", ["organization_admin", "admin"])
def test_a_stranger_finds_nothing(api_for, task, role):
    api = api_for(role=role)  # of another organization, which is not the operating one
    answers = calls(api, task)
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "create": 404,  # the grader is not theirs
        "list": 200,
        "versions": 404,
        "patch": 404,
        "archive": 404,
        "delete": 404,
    }
    assert answers["list"].json()["tasks"] == []
    assert answers["list"].json()["pagination"]["total"] == 0
    assert Task.objects.get().name == "Mine"


def test_an_admin_of_the_operating_organization_reaches_every_task(admin_api, task):
    assert admin_api.get("/tasks").json()["tasks"][0]["id"] == task.public_id
    assert admin_api.get(f"/tasks/{task.public_id}/versions").status_code == 200
    assert admin_api.patch(f"/tasks/{task.public_id}", {"name": "Renamed"}).status_code == 200
    assert admin_api.delete(f"/tasks/{task.public_id}").status_code == 204


def test_a_role_limited_to_own_tasks_is_refused_on_others(api_for, task):
    both = [{"resource": "tasks", "actions": ["read"], "scope": "organization"}]
    both.append({"resource": "tasks", "actions": ["update", "delete"], "scope": "own"})
    role = Role.objects.create(organization=task.organization, name="author", permissions=both)
    api = api_for(organization=task.organization, role=role)
    answer = api.patch(f"/tasks/{task.public_id}", {"name": "Renamed"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert api.delete(f"/tasks/{task.public_id}").status_code == 403
    own = TaskFactory(organization=task.organization, created_by=api.user)
    assert api.patch(f"/tasks/{own.public_id}", {"name": "Renamed"}).status_code == 200


def test_other_methods_are_405(api_for, task):
    api = api_for(organization=task.organization)
    for method in ("PUT", "DELETE"):
        assert api.call(method, "/tasks").status_code == 405
    assert api.post(f"/tasks/{task.public_id}/versions", {}).status_code == 405
    assert api.call("PUT", f"/tasks/{task.public_id}", {}).status_code == 405
