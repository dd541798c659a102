"""The sweep: what was lost becomes due again, what is due is found, what is over ends. By the database's clock."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from autotune.core.clock import database_now
from scores.engine import claims, sweep
from scores.engine.sweep import due_graders
from scores.models import Reward, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.concurrency import aside, together
from tests.support.results import claim, judged, save

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
MOMENT = timedelta(seconds=1)


@pytest.fixture
def task(db):
    return TaskFactory()


@pytest.fixture
def grader(task):
    return task.version.members.get().grader


@pytest.fixture
def make(task):
    return lambda **fields: RunFactory(completion=CompletionFactory(task=task), **fields)


def row(run):
    run.refresh_from_db()
    return run.status, run.error_code


# --- leases and sleep ------------------------------------------------------------------------------------------------


def test_a_run_with_an_expired_lease_is_due_again_without_a_failure(make, grader):
    run = make()
    claim(run, lease_s=-1)
    assert sweep.sweep() == [grader.pk]
    assert row(run) == ("pending", "")
    assert (run.attempt, run.failures, run.leased_until) == (1, 0, None)
    (again,) = claims.take(grader.pk, limit=1)
    assert again.attempt == 2


def test_a_valid_lease_is_unchanged(make):
    run = make()
    claim(run)
    assert sweep.sweep() == []
    assert row(run) == ("running", "")


def test_any_number_of_lost_leases_uses_up_no_attempts(make, task):
    type(task).objects.update(max_attempts=1)
    run = make()
    for _ in range(10):
        claim(run, lease_s=-1)
        sweep.sweep()
    assert (row(run), run.attempt, run.failures) == (("pending", ""), 10, 0)


def test_a_late_answer_of_a_swept_lease_still_counts(make, grader, task):
    run = make()
    held = claim(run, lease_s=-1)
    sweep.sweep()
    save(grader, [judged(held, version_id=task.version_id)])
    assert row(run) == ("completed", "")
    assert sweep.sweep() == []


def test_a_sleeping_run_wakes_at_its_time(make, grader):
    due = make(status="sleeping", wake_at=timezone.now() - MOMENT, error_code="timeout", failures=1)
    asleep = make(status="sleeping", wake_at=timezone.now() + timedelta(minutes=1))
    assert sweep.sweep() == [grader.pk]
    assert (row(due), due.wake_at, due.failures) == (("pending", "timeout"), None, 1)
    assert row(asleep) == ("sleeping", "")


@pytest.mark.postgres
def test_the_clock_of_the_database_decides(make, monkeypatch):
    asleep = make(status="sleeping", wake_at=database_now() + timedelta(minutes=1))
    run = make()
    claim(run, lease_s=60)
    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    sweep.sweep()
    assert (row(asleep)[0], row(run)[0]) == ("sleeping", "running")


def test_a_run_that_waits_for_a_person_is_unchanged(make):
    run = make(status="waiting", deadline_at=timezone.now() - MOMENT)
    assert sweep.sweep() == []
    assert row(run) == ("waiting", "")


# --- ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"status": "pending"}, {"status": "sleeping", "wake_at": timezone.now() + MOMENT}])
def test_a_run_past_its_deadline_fails_and_its_completion_with_it(make, fields):
    run = make(deadline_at=timezone.now() - MOMENT, **fields)
    assert sweep.sweep() == []
    assert row(run) == ("failed", "deadline_exceeded")
    assert (run.failures, run.wake_at) == (0, None)
    assert run.completed_at is not None
    assert Reward.objects.values_list("value", "error_code").get() == (None, "deadline_exceeded")


def test_a_call_open_at_the_deadline_may_still_bring_a_score(make, grader, task):
    run = make(deadline_at=timezone.now() - MOMENT)
    held = claim(run)
    sweep.sweep()
    assert row(run) == ("running", "")
    save(grader, [judged(held, version_id=task.version_id)])
    assert row(run) == ("completed", "")


def test_an_inactive_graders_runs_wait_until_their_deadline(make, grader):
    type(grader).objects.update(status="inactive")
    waits, ends = make(), make(deadline_at=timezone.now() - MOMENT)
    assert sweep.sweep() == []
    assert (row(waits), row(ends)) == (("pending", ""), ("failed", "deadline_exceeded"))


def test_runs_returned_to_a_gone_grader_fail(make, grader):
    type(grader).objects.update(status="inactive", gone_at=timezone.now(), verified_at=None)
    lost, asleep = make(), make(status="sleeping", wake_at=timezone.now() + timedelta(hours=1))
    claim(lost, lease_s=-1)
    assert sweep.sweep() == []
    assert row(lost) == row(asleep) == ("failed", "grader_gone")
    assert Reward.objects.filter(error_code="grader_gone").count() == 2


def test_an_open_call_to_a_gone_grader_is_left_to_its_drain(make, grader):
    type(grader).objects.update(status="inactive", gone_at=timezone.now(), verified_at=None)
    run = make()
    claim(run)
    sweep.sweep()
    assert row(run) == ("running", "")


def test_all_runs_of_a_gone_grader_fail_and_no_others(make, grader, monkeypatch):
    monkeypatch.setattr(sweep, "OVERDUE_AT_ONCE", 3)
    for _ in range(8):
        make()
    other = RunFactory()
    assert sweep.fail_gone(grader.pk) == 8
    assert row(other) == ("pending", "")


# --- what is due -----------------------------------------------------------------------------------------------------


def test_graders_with_pending_runs_are_due(make, grader):
    make()
    GraderFactory()
    other = RunFactory()
    assert set(due_graders(database_now())) == {grader.pk, other.grader_id}


@pytest.mark.parametrize("status", ["running", "sleeping", "waiting", "completed", "failed"])
def test_a_grader_without_pending_runs_is_not_due(make, status):
    make(status=status)
    assert due_graders(database_now()) == []


@pytest.mark.parametrize("fields", [{"status": "inactive"}, {"deleted_at": timezone.now()}])
def test_a_grader_that_may_not_be_called_is_not_due(make, grader, fields):
    make()
    type(grader).objects.update(**fields)
    assert due_graders(database_now()) == []


def test_a_degraded_grader_is_due(make, grader):
    make()
    type(grader).objects.update(status="degraded")
    assert due_graders(database_now()) == [grader.pk]


# --- one at a time --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@COMMITTED
def test_a_pass_during_another_sweep_does_nothing(make):
    run = make()
    claim(run, lease_s=-1)
    locked, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s)", [sweep.LOCK])
            locked.set()
            assert done.wait(10)

    rival = aside(hold)
    assert locked.wait(10)
    assert sweep.sweep() == []
    assert row(run) == ("running", "")
    done.set()
    rival.result(10)
    assert sweep.sweep() == [run.grader_id]
    assert row(run) == ("pending", "")


@pytest.mark.postgres
@COMMITTED
def test_concurrent_sweeps_are_safe(make):
    lost = [make() for _ in range(40)]
    for run in lost:
        claim(run, lease_s=-1)
    over = [make(deadline_at=timezone.now() - MOMENT) for _ in range(40)]
    together(*[sweep.sweep] * 4)
    assert {row(run) for run in lost} == {("pending", "")}
    assert {row(run) for run in over} == {("failed", "deadline_exceeded")}
    assert Reward.objects.count() == 40


@pytest.mark.postgres
@COMMITTED
def test_a_run_that_a_saver_has_locked_is_left_to_the_saver(make, grader, task):
    late, other = make(), make()
    held = claim(late, lease_s=-1)
    claim(other, lease_s=-1)
    saved, go_on = threading.Event(), threading.Event()

    def slow():
        with transaction.atomic():
            save(grader, [judged(held, version_id=task.version_id)])
            saved.set()
            assert go_on.wait(10)

    saver = aside(slow)
    assert saved.wait(10)
    assert sweep.sweep() == [grader.pk]
    assert row(other) == ("pending", "")
    go_on.set()
    saver.result(10)
    assert row(late) == ("completed", "")
    assert WorkflowRun.objects.filter(status="running").count() == 0


def test_a_pass_with_nothing_to_do_costs_few_queries(db, django_assert_max_num_queries):
    with django_assert_max_num_queries(29):
        assert sweep.sweep() == []


def test_expensive_checks_do_not_run_in_every_pass(make):
    over, lost = make(deadline_at=timezone.now() - MOMENT), make()
    claim(lost, lease_s=-1)
    sweep.sweep(passes=1)
    assert (row(over), row(lost)) == (("pending", ""), ("pending", ""))
    sweep.sweep(passes=sweep.ENDS_EVERY)
    assert row(over) == ("failed", "deadline_exceeded")
