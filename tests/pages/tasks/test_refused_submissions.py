"""The pages of tasks say when a task refuses submissions, as the API does."""

import pytest
from django.urls import reverse
from django.utils import timezone

from graders.models import Grader
from tests.factories import GraderFactory, TaskFactory

pytestmark = pytest.mark.django_db
PILL = '<span class="badge bad">refuses submissions</span>'


def pages(client, task):
    return [client.get(path).content.decode() for path in ("/tasks", reverse("task", args=[task.pk]))]


def task_with(client):
    grader = GraderFactory(organization=client.organization, name="Law")
    return TaskFactory(organization=client.organization, graders=[grader]), grader


@pytest.mark.parametrize("change", [{"status": "inactive"}, {"deleted_at": timezone.now()}])
def test_a_scoring_grader_that_is_inactive_or_deleted_makes_the_task_refuse(visitor, change):
    client = visitor()
    task, grader = task_with(client)
    assert all(PILL not in text for text in pages(client, task))
    Grader.objects.filter(pk=grader.pk).update(**change)
    listed, detail = pages(client, task)
    assert PILL in listed
    assert PILL in detail
    assert "409 grader_inactive" in detail


def test_a_degraded_grader_and_an_inactive_shadow_grader_refuse_nothing(visitor):
    client = visitor()
    task, grader = task_with(client)
    Grader.objects.filter(pk=grader.pk).update(status="degraded")
    assert all(PILL not in text for text in pages(client, task))
    shadow_task, shadow = task_with_shadow(client)
    Grader.objects.filter(pk=shadow.pk).update(status="inactive")
    assert all(PILL not in text for text in pages(client, shadow_task))


def test_a_grader_that_the_reader_may_not_read_is_named_by_its_id_only(visitor):
    client = visitor()
    foreign = GraderFactory(name="Secret of another organization", status="inactive")
    task = TaskFactory(organization=client.organization, graders=[foreign])
    detail = client.get(reverse("task", args=[task.pk])).content.decode()
    assert PILL in detail
    assert foreign.public_id in detail
    assert foreign.name not in detail


def task_with_shadow(client):
    scoring, shadow = (GraderFactory(organization=client.organization, name=name) for name in ("Maths", "Physics"))
    return TaskFactory(organization=client.organization, graders=[scoring, (shadow, 1.0, "shadow")]), shadow
