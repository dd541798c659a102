"""Drains: one for a grader in a process, no wake-up lost, and what changes about the grader while one runs."""

import threading
import time

import pytest
from django.db import connection
from django.utils import timezone

from autotune.core import http, redis
from graders import credentials
from graders.models import Grader, GraderSecret
from scores import drains, scoring, wakeups
from scores.models import Score, WorkflowRun
from scores.scoring import Drain, callable_grader
from tests.broker import memory_broker
from tests.concurrency import aside, until
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.fakes import FakeGrader, serving

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


class Doorkeeper(FakeGrader):
    """Answers 401, unsigned, to requests that are signed with a key it does not know; None: it knows all."""

    known = None

    def answer(self, handler, path, body):
        if self.known is not None and handler.headers["X-Autotune-Key-Id"] not in self.known:
            return 401, {"error": "who is there"}, False
        return super().answer(handler, path, body)


@pytest.fixture
def fake():
    with serving(Doorkeeper()) as running:
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
    """`watched(look)`: a drain in this thread that calls `look(drain)` at each step; true tells it of new work."""

    def run(look):
        work = Drain(callable_grader(grader.pk), until=time.monotonic() + 20, asked=lambda: bool(look(work)))
        work.run()
        return work

    yield run
    http.engine().abandon()


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
def test_a_wake_up_during_a_drain_makes_it_look_once_more(fake, grader, make, messages):
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
def test_drains_of_two_graders_run_beside_each_other(fake, grader, make, messages):
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
def test_a_wake_up_at_any_moment_of_a_drain_is_heeded(make, watched, moment):
    make()
    looks, woken = 0, False

    def look(drain):
        nonlocal looks, woken
        looks += 1
        idle = drain.dry and not (drain.out or drain.queue or drain.ready) and Score.objects.exists()
        if woken or (not idle if moment == "idle" else looks < moment):
            return False
        make()
        woken = True
        return True

    watched(look)
    assert woken
    assert statuses() == ["completed"] * 2


@COMMITTED
def test_a_wake_up_that_comes_as_the_drain_ends_is_sent_on(fake, grader, make, messages, monkeypatch):
    make()

    def ends_as_it_is_asked(self):
        drains.drain(grader.pk)  # from another thread, between this drain's last look and its end

    monkeypatch.setattr(Drain, "_abandon", ends_as_it_is_asked)
    drains.drain(grader.pk)
    assert messages.take() == [(wakeups.JOB, str(grader.pk))]


@COMMITTED
def test_a_drain_that_broke_off_leaves_the_grader_free_for_the_next(fake, grader, make, messages, monkeypatch):
    make()
    GraderSecret.objects.all().delete()
    with pytest.raises(Exception, match="no secret"):
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
def test_the_mark_of_the_wake_up_is_gone_before_the_first_claim(grader, make, messages):
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
    assert statuses() == ["completed"] * done + ["pending"] * (12 - done)
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


# --- what changes meanwhile -----------------------------------------------------------------------------------------


def after_two(fake, change):
    """A look that makes a change once two items were judged."""
    made = []

    def look(drain):
        if not made and len(fake.items) >= 2:
            made.append(change())

    return look


def rotate(fake, grader, **more):
    """Rotate, and let the fake know the new secret alone."""
    fake.secret = credentials.rotate(grader, **more)
    fake.known = {GraderSecret.objects.get(current=True).key_id}


@pytest.mark.parametrize("grace_hours", [24, 0])
def test_a_401_to_the_previous_secret_is_answered_with_the_current_one(fake, grader, make, watched, grace_hours):
    old = GraderSecret.objects.get().key_id
    make(5)
    watched(after_two(fake, lambda: rotate(fake, grader, grace_hours=grace_hours)))
    (new,) = fake.known
    assert statuses() == ["completed"] * 5
    assert WorkflowRun.objects.filter(failures__gt=0).count() == 0
    assert fake.keys == [old, old, old, new, new, new]  # one call was repeated, the next are signed anew at once
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (0, "active")
    assert GraderSecret.objects.get(current=True).confirmed is (grace_hours > 0)  # a sole secret needs no telling


def test_in_the_grace_period_a_grader_that_knows_only_the_old_secret_goes_on(fake, grader, make, watched):
    make(5)
    watched(after_two(fake, lambda: credentials.rotate(grader)))
    assert statuses() == ["completed"] * 5
    assert set(fake.keys) == {GraderSecret.objects.get(current=False).key_id}
    assert not GraderSecret.objects.get(current=True).confirmed


def test_a_grader_that_refuses_both_secrets_is_called_once_more_and_no_oftener(fake, grader, make, watched):
    (run,) = make()
    credentials.rotate(grader)
    fake.known = set()
    watched(lambda drain: False)
    run.refresh_from_db()
    assert (run.status, run.error_code, len(fake.keys)) == ("failed", "auth_failed", 2)
    grader.refresh_from_db()
    assert grader.auth_failures == 1


def test_three_refusals_in_a_row_make_the_grader_degraded_and_a_good_answer_active_again(fake, grader, make, watched):
    make(3)
    fake.known = set()
    watched(lambda drain: False)
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (3, "degraded")
    fake.known = None
    make()
    watched(lambda drain: False)
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (0, "active")


def test_a_grader_that_is_switched_off_is_called_no_more(fake, grader, make, watched, monkeypatch):
    monkeypatch.setattr(scoring, "REFRESH_S", 0.0)
    make(6)
    work = watched(after_two(fake, lambda: Grader.objects.update(status="inactive")))
    assert work.stopped
    assert 2 <= len(fake.items) <= 3
    assert statuses() == ["completed"] * len(fake.items) + ["pending"] * (6 - len(fake.items))


def test_answers_to_calls_that_are_out_count_although_the_grader_is_switched_off(
    fake, grader, make, watched, monkeypatch
):
    monkeypatch.setattr(scoring, "REFRESH_S", 0.0)
    make(1)
    Grader.objects.update(max_concurrency=2)  # room in the window, so that the drain looks while a call is out
    fake.gate.clear()

    def look(drain):
        if fake.calls and Grader.objects.update(status="inactive"):
            threading.Timer(0.1, fake.gate.set).start()

    watched(look)
    assert statuses() == ["completed"]


def test_new_limits_hold_for_the_calls_that_follow(fake, grader, make, watched, monkeypatch):
    monkeypatch.setattr(scoring, "REFRESH_S", 0.0)
    make(9)
    watched(after_two(fake, lambda: Grader.objects.update(max_batch_size=10)))
    paths = [path for path, _ in fake.calls]
    assert paths[:2] == ["/score"] * 2
    assert paths[-1] == "/score/batch"
    assert sorted(set(fake.items)) == sorted(fake.items)
    assert statuses() == ["completed"] * 9
