"""Batches that are answered later: items are independent, and parts may arrive one by one."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.engine import claims, sweep
from scores.models import Callback, CallbackItem, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, public
from tests.support.calling_back import call_back, status_and_code

SCORE, BETTER = {"score": {"value": 0.75, "confidence": 0.9}}, {"score": {"value": 0.5, "confidence": 0.9}}
ERROR, BROKEN = {"error": "no"}, {"score": {"value": 2}}


@pytest.fixture
def grader(db, fake):
    fake.answers_later = True
    return GraderFactory(endpoint=fake.url, max_batch_size=10, supports_async=True)


@pytest.fixture
def batch(fake, grader, drain):
    """Three runs of one batch request."""
    task = TaskFactory(organization=grader.organization, graders=[grader])
    runs = [RunFactory(completion=CompletionFactory(task=task)) for _ in range(3)]
    drain(grader)
    (request,) = fake.accepted
    return runs, request


def seen(run):
    run.refresh_from_db()
    return run.status, run.waits_for, run.error_code


def parts(request, *results):
    """The answer to a batch: for each item its result, None leaves it out."""
    named = zip([item["id"] for item in request["completions"]], results, strict=True)
    scores = [{"completionId": name, **result} for name, result in named if result is not None]
    return {"requestId": request["requestId"], "scores": scores}


def test_a_batch_is_recorded_as_a_whole(batch):
    runs, request = batch
    assert status_and_code(call_back(request, parts(request, SCORE, ERROR, SCORE))) == (200, "recorded")
    assert [seen(run)[0] for run in runs] == ["completed", "failed", "completed"]
    assert status_and_code(call_back(request, parts(request, SCORE, ERROR, SCORE))) == (409, "already_recorded")
    assert status_and_code(call_back(request, parts(request, SCORE, SCORE, SCORE))) == (409, "result_conflict")


def test_a_batch_may_arrive_in_parts_and_each_part_repeatedly(batch):
    runs, request = batch
    first, rest = parts(request, SCORE, None, None), parts(request, None, SCORE, SCORE)
    assert status_and_code(call_back(request, first)) == (200, "recorded")
    assert [seen(run)[0] for run in runs] == ["completed", "waiting", "waiting"]
    assert status_and_code(call_back(request, first)) == (409, "already_recorded")
    assert status_and_code(call_back(request, parts(request, BETTER, None, None))) == (409, "result_conflict")
    assert status_and_code(call_back(request, rest)) == (200, "recorded")
    assert status_and_code(call_back(request, first)) == (409, "already_recorded")
    assert status_and_code(call_back(request, rest)) == (409, "already_recorded")
    assert (Score.objects.count(), {seen(run)[0] for run in runs}) == (3, {"completed"})


def test_a_part_that_names_closed_items_too_records_the_open_ones(batch):
    _runs, request = batch
    call_back(request, parts(request, SCORE, None, None))
    assert status_and_code(call_back(request, parts(request, BETTER, BETTER, None))) == (200, "recorded")
    assert [float(score.value) for score in Score.objects.order_by("completion_id")] == [0.75, 0.5]
    assert CallbackItem.objects.filter(body_digest=None).count() == 1


def test_an_invalid_item_stays_open(batch):
    runs, request = batch
    assert status_and_code(call_back(request, parts(request, SCORE, BROKEN, None))) == (200, "recorded")
    assert [seen(run)[0] for run in runs] == ["completed", "waiting", "waiting"]
    assert status_and_code(call_back(request, parts(request, None, BROKEN, None))) == (422, "invalid_result")
    assert status_and_code(call_back(request, parts(request, None, SCORE, SCORE))) == (200, "recorded")


def test_a_cancelled_item_is_reported_and_does_not_block_others(batch, api_for):
    runs, request = batch
    operator = api_for(organization=runs[0].organization)
    operator.post(f"/workflow-runs/{public('run', runs[0])}/cancel")
    assert status_and_code(call_back(request, parts(request, SCORE, None, None))) == (410, "cancelled")
    assert status_and_code(call_back(request, parts(request, SCORE, SCORE, SCORE))) == (200, "recorded")
    assert [seen(run)[0] for run in runs] == ["failed", "completed", "completed"]


def test_missing_items_fail_at_the_deadline(batch):
    runs, request = batch
    call_back(request, parts(request, SCORE, None, None))
    for run in runs[1:]:
        WorkflowRun.objects.filter(pk=run.pk).update(wake_at=timezone.now() - timedelta(seconds=1))
    Callback.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep.sweep()
    assert [seen(run)[2] for run in runs] == ["", "callback_expired", "callback_expired"]
    assert status_and_code(call_back(request, parts(request, None, SCORE, SCORE))) == (410, "expired")


def test_the_runs_of_two_claims_are_distinguished(batch, grader):
    """A claim of its own raises the attempt of a run that was returned; the batch still answers it."""
    runs, request = batch
    WorkflowRun.objects.filter(pk=runs[0].pk).update(status="pending", waits_for="", wake_at=None)
    (claimed,) = claims.take(grader.pk, limit=5)
    assert claimed.attempt == 2
    assert status_and_code(call_back(request, parts(request, SCORE, SCORE, SCORE))) == (200, "recorded")
    assert {seen(run)[0] for run in runs} == {"completed"}
