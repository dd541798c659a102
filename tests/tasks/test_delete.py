"""DELETE /tasks/:id: gone with its versions, refused while completions name it, or archived."""

import pytest

from autotune.core.errors import Conflict, NotFound
from tasks import definitions
from tasks.models import PanelMember, Task, TaskVersion
from tests.factories import CompletionFactory, GraderFactory, TaskFactory, public


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def test_deleting_a_task_deletes_its_versions_and_panels(api, task):
    other = TaskFactory(organization=api.organization)
    api.patch(f"/tasks/{task.public_id}", {"promptTemplate": "a second version"})
    answer = api.delete(f"/tasks/{task.public_id}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert list(Task.objects.all()) == [other]
    assert list(TaskVersion.objects.all()) == [other.version]
    assert PanelMember.objects.count() == 1
    assert api.delete(f"/tasks/{task.public_id}").status_code == 404


def test_the_name_of_a_deleted_task_is_free(api, task):
    api.delete(f"/tasks/{task.public_id}")
    grader = GraderFactory(organization=api.organization)
    body = {"name": task.name, "promptTemplate": "x", "graderId": public("grader", grader)}
    assert api.post("/tasks", body).status_code == 201


def test_a_task_with_completions_is_kept(api, task):
    CompletionFactory(task=task)
    answer = api.delete(f"/tasks/{task.public_id}")
    assert (answer.status_code, answer.json()["code"]) == (409, "has_completions")
    assert TaskVersion.objects.count() == 1


def test_archiving_a_task_with_completions_twice_is_safe(api, task):
    CompletionFactory(task=task)
    for _ in range(2):
        assert api.delete(f"/tasks/{task.public_id}?archive=true").status_code == 204
    task.refresh_from_db()
    assert task.archived
    assert api.get("/tasks").json()["tasks"] == []


def test_an_archived_task_keeps_its_name(api, task):
    api.delete(f"/tasks/{task.public_id}?archive=true")
    grader = GraderFactory(organization=api.organization)
    answer = api.post("/tasks", {"name": task.name, "promptTemplate": "x", "graderId": public("grader", grader)})
    assert answer.json()["code"] == "name_taken"


@pytest.mark.parametrize("value", ["maybe", "", "2"])
def test_archive_is_true_or_false(api, task, value):
    answer = api.delete(f"/tasks/{task.public_id}?archive={value}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?archive")
    assert Task.objects.filter(archived=False).exists()


def test_a_task_that_a_rival_deleted_is_not_found(api, task):
    definitions.delete(task)
    for change in (definitions.archive, definitions.delete):
        with pytest.raises(NotFound):
            change(task)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_foreign_key_refuses_a_deletion_that_the_check_missed(monkeypatch):
    task = TaskFactory()
    completion = CompletionFactory(task=task)
    monkeypatch.setattr("django.db.models.query.QuerySet.exists", lambda self: False)
    with pytest.raises(Conflict) as refused:
        definitions.delete(task)
    monkeypatch.undo()
    assert refused.value.code == "has_completions"
    completion.refresh_from_db()
    assert Task.objects.get(pk=task.pk).version_id == completion.task_version_id
