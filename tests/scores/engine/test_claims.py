"""Claiming: by priority then age, under a lease that the database's clock ends, never the same run twice."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F

from autotune.core.clock import database_now
from scores.engine import claims
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.concurrency import together

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
SLACK = timedelta(seconds=5)


@pytest.fixture
def make(db):
    """`make(count)`: pending runs of one grader, oldest first; `make.grader` is the grader."""
    task = TaskFactory()
    member = task.version.members.get()

    def runs(count, **fields):
        return [RunFactory(completion=CompletionFactory(task=task), **fields) for _ in range(count)]

    runs.grader = member.grader
    return runs


def ids_of(claimed):
    return [run.run_id for run in claimed]


def left(run):
    """The rest of a run's lease by the database's clock."""
    run.refresh_from_db()
    return run.leased_until - database_now()


def test_the_higher_priority_goes_first_then_the_older(make):
    old, new = make(2, priority=1)
    (low,), (high,) = make(1, priority=0), make(1, priority=2)
    assert ids_of(claims.take(make.grader.pk, limit=10)) == [high.pk, old.pk, new.pk, low.pk]


def test_the_limit_takes_from_the_front(make):
    old, _ = make(2, priority=1)
    (high,) = make(1, priority=2)
    assert ids_of(claims.take(make.grader.pk, limit=2)) == [high.pk, old.pk]
    assert WorkflowRun.objects.filter(status="pending").count() == 1


def test_a_claim_takes_the_due_runs_and_does_not_wait_for_more(make):
    make(3)
    assert len(claims.take(make.grader.pk, limit=512)) == 3
    assert claims.take(make.grader.pk, limit=512) == []


@pytest.mark.parametrize("status", ["running", "sleeping", "waiting", "completed", "failed"])
def test_only_pending_runs_are_claimed(make, status):
    make(1, status=status)
    assert claims.take(make.grader.pk, limit=10) == []


def test_another_graders_runs_are_not_claimed(make):
    make(1)
    assert claims.take(GraderFactory().pk, limit=10) == []


def test_a_claim_holds_a_lease_of_fifteen_seconds_by_the_databases_clock(make):
    (run,) = make(1)
    before = database_now()
    claims.take(make.grader.pk, limit=1)
    run.refresh_from_db()
    assert before + claims.LEASE <= run.leased_until <= database_now() + claims.LEASE
    assert timedelta(seconds=15) == claims.LEASE
    assert before <= run.started_at <= database_now()


def test_a_claim_has_everything_a_drain_needs(make):
    (run,) = make(1, failures=2, error_code="timeout", error_repeats=2, attempt=3, panel_size=2)
    (claimed,) = claims.take(make.grader.pk, limit=1)
    run.refresh_from_db()
    for name in ("completion_id", "task_id", "organization_id", "deadline_at", "priority", "panel_size"):
        assert getattr(claimed, name) == getattr(run, name)
    assert (claimed.failures, claimed.error_code, claimed.error_repeats) == (2, "timeout", 2)


def test_attempts_are_counted_and_the_first_start_stays(make):
    (run,) = make(1)
    (first,) = claims.take(make.grader.pk, limit=1)
    run.refresh_from_db()
    started = run.started_at
    claims.give_back([first])
    (second,) = claims.take(make.grader.pk, limit=1)
    run.refresh_from_db()
    assert (first.attempt, second.attempt, run.attempt, run.started_at) == (1, 2, 2, started)


def test_a_renewed_lease_has_its_full_length(make):
    (run,) = make(1)
    claimed = claims.take(make.grader.pk, limit=1)
    WorkflowRun.objects.update(leased_until=database_now() + timedelta(seconds=1))
    claims.renew(claimed)
    assert claims.LEASE - SLACK < left(run) <= claims.LEASE


def test_only_the_own_attempt_is_renewed(make):
    lost, kept = make(2)
    claimed = claims.take(make.grader.pk, limit=2)
    soon = database_now() + timedelta(seconds=1)
    WorkflowRun.objects.update(leased_until=soon)
    WorkflowRun.objects.filter(pk=lost.pk).update(attempt=F("attempt") + 1)  # a rival's, after the lease ran out
    claims.renew(claimed)
    assert left(lost) <= timedelta(seconds=1)
    assert left(kept) > claims.LEASE - SLACK


@pytest.mark.parametrize("status", ["pending", "sleeping", "completed", "failed"])
def test_a_run_with_another_status_gets_no_lease(make, status):
    (run,) = make(1)
    claimed = claims.take(make.grader.pk, limit=1)
    WorkflowRun.objects.update(status=status, leased_until=None)
    claims.renew(claimed)
    claims.give_back(claimed)
    run.refresh_from_db()
    assert (run.status, run.leased_until) == (status, None)


def test_a_returned_run_is_due_at_once(make):
    make(3)
    claims.give_back(claims.take(make.grader.pk, limit=3))
    assert set(WorkflowRun.objects.values_list("status", "leased_until", "failures")) == {("pending", None, 0)}
    assert len(claims.take(make.grader.pk, limit=3)) == 3


def test_only_the_own_attempt_is_returned(make):
    lost, kept = make(2)
    claimed = claims.take(make.grader.pk, limit=2)
    WorkflowRun.objects.filter(pk=lost.pk).update(attempt=F("attempt") + 1)
    claims.give_back(claimed)
    lost.refresh_from_db()
    kept.refresh_from_db()
    assert (lost.status, kept.status) == ("running", "pending")


def test_runs_of_different_attempts_are_renewed_and_returned_together(make):
    first, second = make(2)
    claims.give_back(claims.take(make.grader.pk, limit=1))
    claimed = claims.take(make.grader.pk, limit=2)
    assert sorted(run.attempt for run in claimed) == [1, 2]
    WorkflowRun.objects.update(leased_until=database_now())
    claims.renew(claimed)
    assert min(left(first), left(second)) > claims.LEASE - SLACK
    claims.give_back(claimed)
    assert set(WorkflowRun.objects.values_list("status", flat=True)) == {"pending"}


@pytest.mark.parametrize("count", [1, 200])
def test_a_claim_costs_the_same_queries_for_any_number(make, count, django_assert_max_num_queries):
    make(count)
    with django_assert_max_num_queries(5):
        claims.take(make.grader.pk, limit=count)


# --- several at once -------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@COMMITTED
def test_concurrent_claims_get_different_runs(make):
    make(120)
    parts = together(*[lambda: ids_of(claims.take(make.grader.pk, limit=30))] * 4)
    everything = [run_id for part in parts for run_id in part]
    assert len(everything) == len(set(everything)) == WorkflowRun.objects.filter(status="running").count()
    assert set(WorkflowRun.objects.filter(status="running").values_list("attempt", flat=True)) == {1}
    assert len(everything) + len(claims.take(make.grader.pk, limit=120)) == 120


@pytest.mark.postgres
@COMMITTED
def test_a_claim_skips_locked_rows(make):
    first, second = make(2)
    locked, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            WorkflowRun.objects.select_for_update().get(pk=first.pk)
            locked.set()
            assert done.wait(10)

    def take():
        assert locked.wait(10)
        try:
            with connection.cursor() as cursor:
                cursor.execute("set lock_timeout = '2s'")
            return ids_of(claims.take(make.grader.pk, limit=2))
        finally:
            with connection.cursor() as cursor:
                cursor.execute("reset lock_timeout")
            done.set()

    assert together(hold, take)[1] == [second.pk]


@pytest.mark.postgres
@COMMITTED
def test_renewing_and_returning_never_deadlock(make):
    make(150)
    claimed = claims.take(make.grader.pk, limit=150)
    backwards = list(reversed(claimed))
    for _ in range(5):
        together(lambda: claims.renew(claimed), lambda: claims.renew(backwards), lambda: claims.renew(claimed))
    together(lambda: claims.give_back(claimed), lambda: claims.renew(backwards), lambda: claims.give_back(backwards))
    assert set(WorkflowRun.objects.values_list("status", flat=True)) == {"pending"}
