"""Panels: which graders a task may name, and that a grader in use stays."""

import pytest
from django.utils import timezone

from autotune.core.errors import Conflict
from graders.models import Grader
from graders.signals import grader_retiring
from tasks import definitions
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, public


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


def entry(grader, **more):
    return {"graderId": public("grader", grader), **more}


def create(api, *graders):
    return api.post("/tasks", {"name": "T", "promptTemplate": "x", "graders": [entry(grader) for grader in graders]})


def test_listed_graders_of_other_organizations_may_judge(api):
    assert create(api, GraderFactory(visibility="listed")).status_code == 201


def test_an_inactive_grader_may_be_in_a_panel(api):
    assert create(api, GraderFactory(organization=api.organization, status="inactive")).status_code == 201


def test_each_unusable_grader_is_named(api):
    private = GraderFactory()
    deleted = GraderFactory(organization=api.organization, deleted_at=timezone.now())
    answer = create(api, GraderFactory(organization=api.organization), private, deleted)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [
        ("/graders/1/graderId", "not_found"),
        ("/graders/2/graderId", "not_found"),
    ]


@pytest.mark.parametrize("exists", [True, False])
def test_private_and_missing_graders_get_the_same_response(api, exists):
    grader = public("grader", GraderFactory()) if exists else "grader_01jd0000000000000000000000"
    task = TaskFactory(organization=api.organization)
    for answer in (
        api.post("/tasks", {"name": "T", "promptTemplate": "x", "graderId": grader}),
        api.patch(f"/tasks/{task.public_id}", {"graderId": grader}),
    ):
        assert answer.status_code == 404
        assert answer.json()["detail"] == "/graderId: There is no such grader."
        assert answer.json()["errors"][0]["pointer"] == "/graderId"


def test_a_test_key_may_use_only_its_own_organizations_graders(api_for):
    api = api_for(kind="test")
    assert create(api, GraderFactory(visibility="listed")).status_code == 404
    assert create(api, GraderFactory(organization=api.organization)).status_code == 201


def test_an_admin_of_the_operating_organization_chooses_among_the_tasks_organizations_graders(admin_api):
    theirs = OrganizationFactory()
    task = TaskFactory(organization=theirs)
    path = f"/tasks/{task.public_id}"
    assert admin_api.patch(path, {"graderId": public("grader", GraderFactory(organization=theirs))}).status_code == 200
    ours = GraderFactory(organization=admin_api.organization)
    assert admin_api.patch(path, {"graderId": public("grader", ours)}).status_code == 404


def test_a_new_version_keeps_an_unchanged_panel(api):
    grader = GraderFactory(visibility="listed")
    task = create(api, grader).json()["task"]
    Grader.objects.filter(pk=grader.pk).update(visibility="private")  # unlisted since
    answer = api.patch(f"/tasks/{task['id']}", {"promptTemplate": "y"})
    assert answer.json()["task"]["graders"] == task["graders"]
    assert answer.json()["task"]["version"] != task["version"]


def test_the_panel_has_its_order(db):
    graders = [GraderFactory() for _ in range(3)]
    task = TaskFactory(graders=[(graders[2], 0.5, "scoring"), graders[0], (graders[1], 0.0, "shadow")])
    assert [(member.grader, member.weight, member.part) for member in task.version.members.all()] == [
        (graders[2], 0.5, "scoring"),
        (graders[0], 1.0, "scoring"),
        (graders[1], 0.0, "shadow"),
    ]


def test_a_grader_that_a_current_panel_names_is_not_deleted(db):
    grader = GraderFactory()
    TaskFactory(graders=[GraderFactory(), (grader, 0.0, "shadow")])
    with pytest.raises(Conflict) as refused:
        grader_retiring.send(sender=Grader, grader=grader)
    assert refused.value.code == "in_use"


def test_a_grader_outside_current_panels_can_be_deleted(api):
    grader, other = GraderFactory(organization=api.organization), GraderFactory(organization=api.organization)
    task = TaskFactory(organization=api.organization, graders=[grader])
    api.patch(f"/tasks/{task.public_id}", {"graderId": public("grader", other)})
    grader_retiring.send(sender=Grader, grader=grader)
    grader_retiring.send(sender=Grader, grader=GraderFactory())


def test_a_grader_of_a_deleted_task_can_be_deleted(db):
    grader = GraderFactory()
    definitions.delete(TaskFactory(graders=[grader]))
    grader_retiring.send(sender=Grader, grader=grader)
