"""Callbacks that meet each other, the 202 that is still under way, and other ends of the run."""

import json

import pytest
from django.db import connection

from scores.engine import recording, sweep
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import SavedRun
from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.calling_back import call_back, status_and_code
from tests.support.concurrency import aside, together

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
GOOD, OTHER = {"score": {"value": 0.75, "confidence": 0.9}}, {"score": {"value": 0.5, "confidence": 0.9}}


@pytest.fixture
def grader(db, fake):
    fake.answers_later = True
    return GraderFactory(endpoint=fake.url, max_batch_size=1, supports_async=True)


@pytest.fixture
def run(grader):
    return RunFactory(
        completion=CompletionFactory(task=TaskFactory(organization=grader.organization, graders=[grader]))
    )


@pytest.fixture
def request_(fake, run, drain, grader):
    drain(grader)
    (request,) = fake.accepted
    return request


def callback_body(request, result=GOOD):
    return {"requestId": request["requestId"], **result}


def test_a_callback_before_the_202_is_read_is_recorded(fake, grader, run, drain):
    replies = []
    fake.on_accept = lambda request: replies.append(
        status_and_code(aside(lambda: call_back(request, callback_body(request))).result(20))
    )
    drain(grader)
    run.refresh_from_db()
    assert replies == [(200, "recorded")]
    assert (run.status, run.waits_for, run.wake_at, run.leased_until) == ("completed", "", None, None)
    assert Score.objects.count() == Reward.objects.count() == 1


def test_of_three_concurrent_callbacks_one_is_recorded(request_):
    replies = together(*[lambda: status_and_code(call_back(request_, callback_body(request_)))] * 3)
    assert sorted(replies) == [(200, "recorded"), (409, "already_recorded"), (409, "already_recorded")]
    assert Score.objects.count() == Reward.objects.count() == 1


def test_of_two_concurrent_results_one_is_recorded(request_):
    replies = together(
        *(
            lambda result=result: status_and_code(call_back(request_, callback_body(request_, result)))
            for result in (GOOD, OTHER)
        )
    )
    assert sorted(replies) == [(200, "recorded"), (409, "result_conflict")]
    kept = (GOOD, OTHER)[replies.index((200, "recorded"))]["score"]["value"]
    assert Score.objects.get().value == kept


def test_of_a_callback_and_a_cancel_one_wins(request_, run):
    saved = SavedRun(run.pk, run.completion_id, run.task_id, run.organization_id, run.purpose)
    reply, failed = together(
        lambda: status_and_code(call_back(request_, callback_body(request_))),
        lambda: recording.fail([saved], "cancelled", "The run was cancelled.", TaskFactsCache(), step="cancel"),
    )
    run.refresh_from_db()
    if failed:
        assert (run.status, run.error_code, Score.objects.count()) == ("failed", "cancelled", 0)
        assert reply in [(410, "cancelled"), (409, "result_conflict")]
    else:
        assert (run.status, reply, Score.objects.count()) == ("completed", (200, "recorded"), 1)


def test_many_callbacks_and_the_sweep_do_not_wait_for_each_other(fake, grader, run, drain):
    more = [RunFactory(completion=CompletionFactory(task=run.completion.task)) for _ in range(5)]
    drain(grader)
    assert len(fake.accepted) == 6
    send = [
        lambda request=request: status_and_code(call_back(request, callback_body(request))) for request in fake.accepted
    ]
    replies = together(*send, *send, *[sweep.sweep] * 2)
    assert sorted(replies[:12]) == [(200, "recorded")] * 6 + [(409, "already_recorded")] * 6
    assert set(WorkflowRun.objects.values_list("status", flat=True)) == {"completed"}
    assert Score.objects.count() == len(more) + 1


@pytest.mark.postgres
def test_a_forged_callback_waits_for_no_lock(request_):
    """A caller that knows only the address can neither delay the real callback nor be delayed by it."""
    with connection.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("select 1 from scores_callback for update")
        forged = aside(
            lambda: status_and_code(call_back(request_, callback_body(request_), x_autotune_signature="f" * 64))
        ).result(10)
        cursor.execute("rollback")
    assert forged == (401, "unauthorized")


def test_the_body_that_is_recorded_is_the_one_that_was_signed(request_, run):
    """Bytes count, not their meaning: the same members in another notation are another body."""
    assert status_and_code(call_back(request_, callback_body(request_))) == (200, "recorded")
    spaced = json.dumps(callback_body(request_), indent=1).encode()
    assert status_and_code(call_back(request_, spaced)) == (409, "result_conflict")
