"""Retention: texts go after the days of their task or organization, rows after the organization's."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from autotune.access.models import AuditEvent, Organization
from autotune.core import ids
from autotune.webhooks.models import Event
from scores import jobs
from scores.models import Callback, CallbackItem, Erasure, Review, Reward, Score, WorkflowRun
from scores.retention import erasing, expiry, purging
from tasks.models import Completion, Task
from tests.factories import (
    CallbackFactory,
    CompletionFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)

NOW = timezone.now()


@pytest.fixture
def task(db):
    return TaskFactory(text_days=30)


def aged(days, task, **fields):
    """A completion that was submitted so many days ago."""
    submitted_at = NOW - timedelta(days=days)
    past = ids.UUID(int=ids.first_of(submitted_at).int | ids.new().int % 2**80)
    return CompletionFactory(id=past, created_at=submitted_at, task=task, **fields)


def scored(days, task):
    completion = aged(days, task)
    return ScoreFactory(run__completion=completion, reasoning="r", created_at=completion.created_at)


def textless():
    return set(Completion.objects.filter(erased_at__isnull=False).values_list("pk", flat=True))


def limit(organization, **days):
    Organization.objects.filter(pk=organization.pk).update(**days)


def test_texts_are_erased_after_the_days_of_the_task_and_scores_stay(task):
    old, young = scored(31, task), scored(29, task)
    assert expiry.work(NOW) is False
    assert textless() == {old.completion_id}
    old.refresh_from_db(), young.refresh_from_db()
    assert (old.value, old.reasoning, young.reasoning) == (0.5, None, "r")
    assert Reward.objects.count() == 2
    completion = Completion.objects.get(pk=old.completion_id)
    assert (completion.prompt, completion.response) == (None, None)


def test_the_organizations_days_apply_if_the_task_has_none(task):
    limit(task.organization, text_days=10)
    own, others, kept = aged(20, TaskFactory(organization=task.organization)), aged(20, task), aged(400, TaskFactory())
    expiry.work(NOW)
    assert textless() == {own.pk}
    assert not {others.pk, kept.pk} & textless()


def test_without_days_nothing_is_erased(db):
    scored(4_000, TaskFactory())
    assert expiry.work(NOW) is False
    assert textless() == set()


@pytest.mark.parametrize("status", ["pending", "running", "sleeping", "waiting"])
def test_retention_keeps_completions_that_are_still_being_scored(task, status):
    run = RunFactory(completion=aged(40, task), status=status)
    after = aged(39, task)
    expiry.work(NOW)
    assert textless() == {after.pk}
    WorkflowRun.objects.filter(pk=run.pk).update(status="failed")
    expiry.work(NOW)
    assert textless() == {after.pk, run.completion_id}


def test_a_run_skips_completions_erased_by_an_earlier_run(task, monkeypatch):
    looked = []
    real = erasing.erase
    monkeypatch.setattr(
        erasing,
        "erase",
        lambda completion_ids, **more: looked.append(len(completion_ids)) or real(completion_ids, **more),
    )
    last = [aged(days, task) for days in (50, 45, 40, 35)][-1]
    expiry.work(NOW)
    assert (looked, Task.objects.get().erased_to) == ([4], last.pk)
    with CaptureQueriesContext(connection) as queries:
        expiry.work(NOW)
    (look,) = [query["sql"] for query in queries if 'FROM "tasks_completion"' in query["sql"]]
    assert last.pk.hex in look or str(last.pk) in look
    assert looked == [4]


def test_batches_are_bounded(task, monkeypatch):
    monkeypatch.setattr(erasing, "AT_ONCE", 2)
    monkeypatch.setattr(expiry, "READ_LIMIT", 3)
    monkeypatch.setattr(purging, "AT_ONCE", 2)
    done = [aged(days, task) for days in range(90, 83, -1)]
    assert expiry.work(NOW, budget_s=0.0) is True
    assert len(textless()) == 2
    assert expiry.work(NOW) is False
    assert len(textless()) == 7
    limit(task.organization, score_days=60)
    expiry.work(NOW)
    assert not Completion.objects.filter(pk__in=[completion.pk for completion in done]).exists()


def test_rows_are_deleted_after_the_organizations_days(task):
    limit(task.organization, score_days=60)
    old, young = scored(61, task), scored(59, task)
    CallbackFactory(run=old.run)
    reviewed = RunFactory(completion=old.completion, status="completed")
    review = ReviewFactory(run=reviewed, status="approved", expires_at=NOW)
    Event.objects.create(organization=task.organization, kind="score.completed", subject_id=old.completion_id, body="b")
    erasure = Erasure.objects.create(
        organization=task.organization, created_by=task.created_by, completion=old.completion, status="completed"
    )
    assert expiry.work(NOW) is False
    assert set(Completion.objects.all()) == {young.completion}
    assert set(Score.objects.all()) == {young}
    assert set(WorkflowRun.objects.all()) == {young.run}
    assert Reward.objects.count() == 1
    assert not Review.objects.filter(pk=review.pk).exists()
    assert not Callback.objects.exists()
    assert not CallbackItem.objects.exists()
    assert Event.objects.get().body is None
    assert Erasure.objects.get() == erasure


def test_rows_with_a_newer_score_or_an_unfinished_run_stay(task):
    limit(task.organization, score_days=60)
    again = scored(61, task)
    ScoreFactory(run=RunFactory(completion=again.completion, status="completed", generation=1), reward=False)
    running = RunFactory(completion=aged(61, task), status="running")
    expiry.work(NOW)
    assert set(Completion.objects.values_list("pk", flat=True)) == {again.completion_id, running.completion_id}


def test_a_deleted_completion_is_404(task, api_for):
    limit(task.organization, score_days=60)
    score = scored(61, task)
    expiry.work(NOW)
    api = api_for(organization=task.organization)
    for path in (
        f"/completions/{public('comp', score.completion)}",
        f"/completions/{public('comp', score.completion)}/score",
        f"/scores/{public('score', score)}",
        f"/workflow-runs/{public('run', score.run)}",
    ):
        assert api.get(path).status_code == 404
    assert api.delete(f"/completions/{public('comp', score.completion)}").status_code == 404


def test_the_job_erases_and_records_it(task):
    old = aged(31, task)
    jobs.retain()
    assert textless() == {old.pk}
    event = AuditEvent.objects.get(actor="retention")
    assert (event.action, event.object_id, event.objects_count) == ("completions.erase", public("task", task), 1)
    limit(task.organization, score_days=30)
    jobs.retain()
    event = AuditEvent.objects.get(action="completions.delete")
    assert (event.object_id, event.objects_count) == (public("org", task.organization), 1)


def test_the_days_of_a_task_are_set_and_merged(api_for, task):
    api = api_for(organization=task.organization)
    path = f"/tasks/{public('task', task)}"
    shown = lambda answer: (answer.json()["task"]["retention"], answer.json()["task"]["shareText"])  # noqa: E731
    assert shown(api.get(path)) == ({"textDays": 30}, False)
    assert shown(api.patch(path, {"retention": {"textDays": 7}, "shareText": True})) == ({"textDays": 7}, True)
    assert shown(api.patch(path, {"retention": {}})) == ({"textDays": 7}, True)
    version = api.get(path).json()["task"]["version"]
    assert shown(api.patch(path, {"retention": {"textDays": None}, "shareText": None})) == ({"textDays": None}, False)
    api.patch(path, {"retention": {"textDays": 1}})
    assert shown(api.patch(path, {"retention": None})) == ({"textDays": None}, False)
    assert api.get(path).json()["task"]["version"] == version
    grader = task.version.members.get().grader
    body = {"name": "n", "promptTemplate": "t", "graderId": public("grader", grader), "retention": {"textDays": 3},
            "shareText": True}  # fmt: skip
    assert shown(api.post("/tasks", body)) == ({"textDays": 3}, True)
