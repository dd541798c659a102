"""Drains: one for a grader in a process, and no wake-up is lost."""

import threading
import time

import pytest
from django.db import connection
from django.utils import timezone

from autotune.core import redis
from autotune.core.outbound import engine
from graders.models import Grader, GraderSecret
from scores.engine import drains, wakeups
from scores.engine.drain import Drain, callable_grader
from scores.models import Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.broker import memory_broker
from tests.support.concurrency import aside, until
from tests.support.fakes import FakeGrader, serving

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def fake():
    with serving(FakeGrader()) as running:
        yield running


@pytest.fixture
def grader(db, fake):
    """A grader without batches, called once at a time: a drain with one step for each run."""
    return GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=1)


@pytest.fixture
def messages():
    with memory_broker() as running:
        yield running


@pytest.fixture
def make(grader):
    task = TaskFactory(organization=grader.organization, graders=[grader])
    return lambda count=1: [RunFactory(completion=CompletionFactory(task=task)) for _ in range(count)]


@pytest.fixture
def watched(grader):
    """`watched(look)`: a drain in this thread that calls `look(drain)` at each step; a true result announces new work."""

    def run(look):
        work = Drain(callable_grader(grader.pk), until=time.monotonic() + 20, is_woken=lambda: bool(look(work)))
        work.run()
        return work

    yield run
    engine.engine().abandon()


def statuses():
    return sorted(WorkflowRun.objects.values_list("status", flat=True))


# --- one drain, no wake-up lost -------------------------------------------------------------------------------------


@COMMITTED
def test_a_grader_is_drained_once_at_a_time_in_a_process(fake, grader, make, messages):
    make(2)
    fake.gate.clear()
    first = aside(lambda: drains.drain(grader.pk))
    until(lambda: fake.calls)
    for _ in range(3):
        drains.drain(grader.pk)  # comes back at once
    assert len(fake.calls) == 1
    fake.gate.set()
    first.result(10)
    assert statuses() == ["completed"] * 2
    assert not drains.ask(grader.pk)


@COMMITTED
def test_a_wake_up_during_a_drain_makes_it_claim_again(fake, grader, make, messages):
    make()
    fake.gate.clear()
    running = aside(lambda: drains.drain(grader.pk))
    until(lambda: fake.calls)
    make()
    assert drains.ask(grader.pk)
    fake.gate.set()
    running.result(10)
    assert statuses() == ["completed"] * 2


@COMMITTED
def test_drains_of_two_graders_run_concurrently(fake, grader, make, messages):
    make()
    fake.gate.clear()
    running = aside(lambda: drains.drain(grader.pk))
    until(lambda: fake.calls)
    with serving(FakeGrader()) as second:
        other = GraderFactory(endpoint=second.url, max_batch_size=1)
        RunFactory(completion=CompletionFactory(task=TaskFactory(graders=[other])))
        drains.drain(other.pk)
        assert len(second.items) == 1
    fake.gate.set()
    running.result(10)
    assert statuses() == ["completed"] * 2


@pytest.mark.parametrize("moment", [1, 2, 3, "idle"])
def test_a_wake_up_at_any_moment_of_a_drain_is_handled(make, watched, moment):
    make()
    looks, woken = 0, False

    def look(drain):
        nonlocal looks, woken
        looks += 1
        idle = drain.dry and not (len(drain.body) or drain.plan) and Score.objects.exists()
        if woken or (not idle if moment == "idle" else looks < moment):
            return False
        make()
        woken = True
        return True

    watched(look)
    assert woken
    assert statuses() == ["completed"] * 2


@COMMITTED
def test_a_wake_up_at_the_end_of_a_drain_is_forwarded(fake, grader, make, messages, monkeypatch):
    make()

    def wake_up_before_the_end(self):
        drains.drain(grader.pk)  # from another thread, between this drain's last query and its end

    monkeypatch.setattr(Drain, "_abandon", wake_up_before_the_end)
    drains.drain(grader.pk)
    assert messages.take() == [(wakeups.JOB, str(grader.pk))]


@COMMITTED
def test_a_failed_drain_leaves_the_grader_free_for_the_next(fake, grader, make, messages, monkeypatch):
    make()
    GraderSecret.objects.all().delete()
    with pytest.raises(Exception, match="no shared secret"):
        drains.drain(grader.pk)
    assert not drains.ask(grader.pk)


@COMMITTED
@pytest.mark.parametrize("fields", [{"status": "inactive"}, {"deleted_at": timezone.now()}, {"version": None}])
def test_a_grader_that_may_not_be_called_is_not_called(fake, grader, make, messages, fields):
    make()
    Grader.objects.update(**fields)
    drains.drain(grader.pk)
    assert (fake.calls, statuses(), messages.take()) == ([], ["pending"], [])


@pytest.mark.redis
@COMMITTED
def test_the_mark_of_the_wake_up_is_deleted_before_the_first_claim(grader, make, messages):
    make()
    seen = []

    def watch(execute, sql, params, many, context):
        if "skip locked" in sql.lower():
            seen.append(redis.attempt(lambda client: client.exists(wakeups._mark(grader.pk)), otherwise=None))
        return execute(sql, params, many, context)

    wakeups.send(grader.pk)
    assert redis.attempt(lambda client: client.exists(wakeups._mark(grader.pk)), otherwise=None) == 1
    with connection.execute_wrapper(watch):
        drains.drain(grader.pk)
    assert seen
    assert set(seen) == {0}


@COMMITTED
def test_at_its_time_limit_a_drain_hands_over_and_keeps_nothing(fake, grader, make, messages, monkeypatch):
    monkeypatch.setattr(drains, "TIME_LIMIT_S", 0.3)
    fake.judge = lambda completion: time.sleep(0.1) or 0.5
    Grader.objects.update(max_concurrency=2)
    make(12)
    drains.drain(grader.pk)
    done = statuses().count("completed")
    assert 0 < done < 12
    assert sorted(statuses()) == ["completed"] * done + ["pending"] * (12 - done)
    assert messages.take() == [(wakeups.JOB, str(grader.pk))]
    fake.judge = lambda completion: 0.5
    drains.drain(grader.pk)
    assert statuses() == ["completed"] * 12
    assert messages.take() == []
    assert len(fake.items) == 12


@COMMITTED
def test_a_drain_of_a_process_that_ends_waits_for_its_calls_and_keeps_nothing(
    fake, grader, make, messages, monkeypatch
):
    monkeypatch.setattr(drains, "_ending", threading.Event())
    make(5)
    fake.gate.clear()
    running = aside(lambda: drains.drain(grader.pk))
    until(lambda: fake.calls)
    drains.close()
    fake.gate.set()
    running.result(10)
    assert len(fake.items) == 1
    assert statuses() == ["completed"] + ["pending"] * 4
    assert messages.take() == [(wakeups.JOB, str(grader.pk))]
    drains.drain(grader.pk)  # one that begins now claims nothing
    assert len(fake.items) == 1
