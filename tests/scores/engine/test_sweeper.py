"""The sweeper of a worker: scoring continues even if no message ever arrives."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from autotune.core.clock import database_now
from scores.engine import drains, pulses
from scores.engine.sweeper import Sweeper
from scores.models import Pulse, Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.broker import memory_broker
from tests.support.concurrency import until
from tests.support.fakes import FakeGrader, refuse, serving
from tests.support.results import claim

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def fake():
    with serving(FakeGrader()) as running:
        yield running


@pytest.fixture
def make(fake):
    """`make(count)`: runs without a wake-up; `make.grader` is the grader."""
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=4)
    task = TaskFactory(organization=grader.organization, graders=[grader])

    def runs(count=1, **fields):
        return [RunFactory(completion=CompletionFactory(task=task), **fields) for _ in range(count)]

    runs.grader, runs.task = grader, task
    return runs


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr("scores.engine.sweeper.EVERY_S", 0.1)


@pytest.fixture(autouse=True)
def messages():
    """A broker without readers: as if every message were lost."""
    with memory_broker() as running:
        yield running


@pytest.fixture
def sweeper(fake):
    """A sweeper at work, of which nothing is left after the test."""
    running = Sweeper()
    running.start()
    yield running
    fake.gate.set()
    running.stop()
    until(lambda: not any(thread.name.startswith("sweeper") for thread in threading.enumerate()))


def drained(fake, grader, count):
    """Wait until the fake has judged `count` items and their drain has ended."""
    until(lambda: len(fake.items) >= count and not drains.ask(grader.pk))


def test_due_runs_are_scored_without_any_message(fake, make, sweeper):
    make(7)
    drained(fake, make.grader, 7)
    sweeper.stop()
    assert Score.objects.count() == Reward.objects.count() == 7
    assert len(fake.items) == 7


@pytest.mark.postgres
def test_the_work_of_a_lost_worker_is_taken_over(fake, make, sweeper):
    (run,) = make()
    claim(run, lease_s=1)
    until(Score.objects.exists)
    run.refresh_from_db()
    assert (run.status, run.attempt, run.failures) == ("completed", 2, 0)


@pytest.mark.postgres
def test_a_run_that_slept_after_a_failure_is_retried(fake, make, sweeper):
    type(make.task).objects.update(backoff_ms=100, max_backoff_ms=300)
    fake.script = refuse(503, times=2)
    (run,) = make()
    until(Score.objects.exists)
    run.refresh_from_db()
    assert (run.status, run.failures, len(fake.calls)) == ("completed", 2, 3)


@pytest.mark.postgres
def test_a_drain_waiting_for_a_slow_call_picks_up_new_runs(fake, make, sweeper):
    slow = threading.Event()

    def slowly(handler, path, body):
        slow.wait(10)
        return 503, {"error": "too late"}, False

    fake.script = [slowly]
    make()
    until(lambda: fake.calls)
    make(2)
    until(lambda: len(fake.items) == 2)
    until(lambda: Score.objects.count() == 2)
    assert WorkflowRun.objects.filter(status="running").count() == 1
    slow.set()


@pytest.mark.postgres
def test_one_slow_grader_does_not_delay_others(fake, make, sweeper):
    fake.gate.clear()
    make()
    until(lambda: fake.calls)
    with serving(FakeGrader()) as other:
        quick = GraderFactory(endpoint=other.url)
        RunFactory(completion=CompletionFactory(task=TaskFactory(graders=[quick])))
        until(Score.objects.exists)
        until(lambda: not drains.ask(quick.pk))
    assert Score.objects.get().grader_id == quick.pk


@pytest.mark.postgres
def test_a_failed_pass_is_followed_by_the_next(fake, make, sweeper, caplog):
    with connection.cursor() as cursor:
        cursor.execute("alter table scores_workflowrun rename to scores_hidden")
        try:
            until(lambda: "the database is away" in caplog.text or "sweep failed" in caplog.text)
        finally:
            cursor.execute("alter table scores_hidden rename to scores_workflowrun")
    make()
    until(Score.objects.exists)


@pytest.mark.postgres
def test_two_sweepers_score_everything_once(fake, make, sweeper):
    second = Sweeper()
    second.start()
    make(40)
    until(lambda: Score.objects.count() == 40)
    second.stop()
    assert sorted(set(fake.items)) == sorted(fake.items)


def test_a_recent_sweep_of_another_process_is_enough(fake, make, monkeypatch):
    waits = threading.Semaphore(0)
    real = pulses.is_recent

    def recent_within_an_hour(name, seconds):
        waits.release()
        return real(name, 3600)

    monkeypatch.setattr("scores.engine.sweeper.pulses.is_recent", recent_within_an_hour)
    pulses.beat(pulses.SWEEP)
    make()
    running = Sweeper()
    running.start()
    try:
        for _ in range(4):
            assert waits.acquire(timeout=10)
        assert fake.calls == []
        Pulse.objects.update(at=database_now() - timedelta(hours=2))
        until(Score.objects.exists)
    finally:
        running.stop()
    until(lambda: not any(thread.name.startswith("sweeper") for thread in threading.enumerate()))


def test_a_stopped_sweeper_starts_no_drain(fake, make):
    stopped = Sweeper()
    stopped.start()
    stopped.stop()
    until(lambda: not any(thread.name.startswith("sweeper") for thread in threading.enumerate()))
    make()
    assert fake.calls == []
