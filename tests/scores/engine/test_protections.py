"""How a drain respects its grader's limits: runs that may not be called now sleep without failures."""

from datetime import timedelta

import pytest
from django.db.models import F

from autotune.core.clock import database_now
from graders import pauses
from graders.models import Grader
from scores.engine import claims, drains, sweep
from scores.models import Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.fakes import refuse


def runs_of(task, count):
    return [RunFactory(completion=CompletionFactory(task=task, response=str(n))) for n in range(count)]


@pytest.fixture
def single(db, fake):
    return GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=1)


@pytest.fixture
def single_task(single):
    return TaskFactory(organization=single.organization, graders=[single])


def statuses():
    return sorted(WorkflowRun.objects.values_list("status", flat=True))


def pass_time(*, seconds):
    """As if so much time had gone by for holds, sleeps and the circuit."""
    moved = timedelta(seconds=seconds)
    WorkflowRun.objects.filter(status="sleeping").update(wake_at=F("wake_at") - moved)
    Grader.objects.exclude(held_until=None).update(held_until=F("held_until") - moved)


def test_retry_after_holds_the_grader_and_its_due_runs(single, single_task, fake, drain):
    runs_of(single_task, 5)
    fake.script = [lambda handler, path, body: (429, {"error": "slow"}, True, {"Retry-After": "40"})]
    drain(single)
    assert len(fake.calls) == 1
    single.refresh_from_db()
    wait = (single.held_until - database_now()) / timedelta(seconds=1)
    assert (35 < wait <= 40, single.held_reason) == (True, pauses.RATE_LIMITED)
    assert statuses() == ["sleeping"] * 5
    assert sorted(WorkflowRun.objects.values_list("failures", flat=True)) == [0, 0, 0, 0, 1]
    assert all(
        30 < (wake_at - database_now()) / timedelta(seconds=1) <= 40
        for wake_at in WorkflowRun.objects.values_list("wake_at", flat=True)
    )


def test_a_held_grader_is_not_called_until_its_time_has_come(single, single_task, fake, drain):
    runs_of(single_task, 3)
    pauses.pause(single.pk, database_now() + timedelta(seconds=60), pauses.UNHEALTHY)
    assert sweep.due_graders(database_now()) == []
    drain(single)
    assert (fake.calls, statuses()) == ([], ["sleeping"] * 3)
    pass_time(seconds=61)
    assert sweep.sweep(passes=1) == [single.pk]
    single.refresh_from_db()
    drain(single)
    assert statuses() == ["completed"] * 3


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_wake_up_for_a_held_grader_puts_its_runs_to_sleep(single, single_task, fake):
    runs_of(single_task, 2)
    pauses.pause(single.pk, database_now() + timedelta(seconds=60), pauses.CIRCUIT_OPEN)
    drains.drain(single.pk)
    assert (fake.calls, statuses()) == ([], ["sleeping"] * 2)
    (step,) = WorkflowRun.objects.first().steps
    assert (step["s"], step["o"]) == ("hold", "circuit_open")


def test_five_failures_in_a_row_open_the_circuit_and_the_other_runs_sleep(single, single_task, fake, drain):
    runs_of(single_task, 12)
    fake.script = refuse(503, signed=False, times=50)
    drain(single)
    assert len(fake.calls) == 5
    single.refresh_from_db()
    assert (single.status, single.troubles, single.held_reason) == ("degraded", ["circuit"], pauses.CIRCUIT_OPEN)
    assert statuses() == ["sleeping"] * 12
    assert WorkflowRun.objects.filter(failures=0).count() == 7


def test_after_its_wait_a_circuit_is_probed_and_closes_after_three_good_answers(
    single, single_task, fake, drain, monkeypatch
):
    runs_of(single_task, 8)
    fake.script = refuse(503, signed=False, times=5)
    drain(single)
    clock = database_now
    monkeypatch.setattr("scores.engine.drain.database_now", lambda: clock() + timedelta(seconds=11))
    Grader.objects.update(held_until=None)
    WorkflowRun.objects.update(status="pending", wake_at=None)
    single.refresh_from_db()
    drain(single)
    assert statuses() == ["completed"] * 8
    single.refresh_from_db()
    assert (single.status, single.troubles, single.held_until) == ("active", [], None)
    assert max(len(body.get("completions", [1])) for _, body in fake.calls) == 1


def test_errors_that_a_grader_reports_open_no_circuit(single, single_task, fake, drain):
    runs_of(single_task, 12)
    fake.judge = lambda completion: "I cannot judge this."
    drain(single)
    assert statuses() == ["failed"] * 12
    single.refresh_from_db()
    assert (single.status, single.held_until) == ("active", None)


def test_the_rate_limits_the_completions_sent(fake, db, drain):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=10, rate_per_minute=60)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 30)
    drain(grader, seconds=0.5)
    count = len(fake.items)
    assert 0 < count <= 12  # a second's worth at the start, and what half a second brings
    assert Score.objects.count() == count
    assert WorkflowRun.objects.filter(failures__gt=0).count() == 0


def test_due_runs_sleep_if_tokens_take_more_than_a_second(fake, db, drain):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, rate_per_minute=6)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 4)
    drain(grader)
    assert len(fake.items) == 1
    assert statuses() == ["completed", "sleeping", "sleeping", "sleeping"]
    grader.refresh_from_db()
    assert grader.held_reason == pauses.RATE_LIMITED


def test_a_batch_that_is_too_large_makes_all_later_ones_smaller(task, grader, fake, drain):
    runs_of(task, 40)

    def too_large(handler, path, body):
        if len(body["completions"]) > 5:
            return 413, {"error": "too large"}, True
        return fake.answer(handler, path, body)

    fake.script = [too_large] * 4
    Grader.objects.filter(pk=grader.pk).update(max_concurrency=1)
    grader.refresh_from_db()
    drain(grader)
    assert Score.objects.count() == 40
    sizes = [len(body["completions"]) for _, body in fake.calls]
    assert sizes[0] == 10
    assert max(sizes[1:]) == 5


def test_the_first_due_runs_sleep_and_the_rest_stay_pending(single, single_task):
    first, *_, last = runs_of(single_task, 4)
    until = database_now() + timedelta(seconds=30)
    assert claims.rest(single.pk, until, pauses.RATE_LIMITED, limit=2) == 2
    first.refresh_from_db()
    last.refresh_from_db()
    assert (first.status, first.wake_at, last.status) == ("sleeping", until, "pending")


def test_runs_wake_when_the_hold_of_their_grader_ends_early(single, single_task, fake, drain):
    runs_of(single_task, 3)
    pauses.pause(single.pk, database_now() + timedelta(minutes=6), pauses.UNHEALTHY)
    drain(single)
    assert statuses() == ["sleeping"] * 3
    pauses.release(single.pk, pauses.UNHEALTHY)
    assert sweep.sweep() == [single.pk]
    assert statuses() == ["pending"] * 3


def test_a_second_hold_replaces_the_first_in_the_timeline(single, single_task, fake, drain):
    (run,) = runs_of(single_task, 1)
    for minutes in (1, 2, 3):
        claims.rest(single.pk, database_now() + timedelta(minutes=minutes), pauses.RATE_LIMITED)
        WorkflowRun.objects.update(status="pending", wake_at=None, waits_for="")
    run.refresh_from_db()
    assert [step["s"] for step in run.steps] == ["hold"]
