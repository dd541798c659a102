"""Archiving a task and deleting one."""

import pytest

from autotune.access.models import AuditEvent
from tasks.models import Task
from tests.factories import CompletionFactory, TaskFactory, public

pytestmark = pytest.mark.django_db


def address(task, what):
    return f"/tasks/{public('task', task)}/{what}"


@pytest.fixture
def client(visitor):
    return visitor("organization_admin")


def test_a_task_is_deleted_once_its_name_is_typed(client):
    task = TaskFactory(organization=client.organization, name="Sums")
    refused = client.post(address(task, "delete"), {"name": "sums"})
    assert refused.status_code == 400
    assert "does not match the task’s name" in refused.content.decode()
    assert Task.objects.count() == 1
    assert client.post(address(task, "delete"), {"name": "Sums"}).url == "/tasks"
    assert not Task.objects.exists()


def test_a_task_with_completions_stays_and_can_be_archived(client):
    task = TaskFactory(organization=client.organization, name="Sums")
    CompletionFactory(task=task)
    assert "You can archive the task" in client.get(address(task, "delete")).content.decode()
    refused = client.post(address(task, "delete"), {"name": "Sums"})
    assert refused.status_code == 409
    assert "Nothing was deleted" in refused.content.decode()
    assert client.post(address(task, "archive")).status_code == 302
    assert Task.objects.get().archived
    client.post(address(task, "archive"), {"archived": "no"})
    assert not Task.objects.get().archived


def test_an_operator_archives_and_does_not_delete(visitor):
    client = visitor("training_operator")
    task = TaskFactory(organization=client.organization)
    assert client.get(address(task, "delete")).status_code == 403
    assert client.post(address(task, "delete"), {"name": task.name}).status_code == 403
    client.post(address(task, "archive"))
    assert Task.objects.get().archived


def test_a_reviewer_does_neither(visitor):
    client = visitor("reviewer")
    task = TaskFactory(organization=client.organization)
    assert client.post(address(task, "delete"), {"name": task.name}).status_code == 403
    assert client.post(address(task, "archive")).status_code == 403
    assert not Task.objects.get().archived


def test_a_task_of_another_organization_is_not_found(client):
    task = TaskFactory()
    assert client.get(address(task, "delete")).status_code == 404
    assert client.post(address(task, "archive")).status_code == 404
    assert client.get(address(task, "archive")).status_code == 405
    assert Task.objects.filter(archived=False).count() == 1


def audit_rows():
    return [
        (event.action, event.object_id, event.outcome)
        for event in AuditEvent.objects.filter(method="POST").order_by("pk")
    ]


def test_the_audit_log_distinguishes_deletions_from_changes(client):
    task = TaskFactory(organization=client.organization, name="Sums")
    client.post(address(task, "archive"))
    client.post(address(task, "delete"), {"name": "wrong"})
    client.post(address(task, "delete"), {"name": "Sums"})
    named = public("task", task)
    assert audit_rows() == [
        ("tasks.update", named, "succeeded"), ("tasks.delete", named, "refused"), ("tasks.delete", named, "succeeded"),
    ]  # fmt: skip
    assert AuditEvent.objects.get(action="tasks.update").fields == ["archived"]


def test_the_audit_log_names_an_attempt_to_delete_a_foreign_task(client):
    task = TaskFactory()
    client.post(address(task, "delete"), {"name": task.name})
    assert audit_rows() == [("tasks.delete", public("task", task), "refused")]
