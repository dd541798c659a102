"""What changes about a grader while a drain runs: its secrets, its status, its limits."""

import threading
import time

import pytest

from autotune.core.outbound import engine
from graders import credentials
from graders.models import Grader, GraderSecret
from scores.engine import drain as engine_drain
from scores.engine.drain import Drain, callable_grader
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.fakes import FakeGrader, serving

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


class Doorkeeper(FakeGrader):
    """Answers 401, unsigned, to requests that are signed with a key outside `accepted_keys`; None accepts all."""

    accepted_keys = None

    def answer(self, handler, path, body):
        if self.accepted_keys is not None and handler.headers["X-Autotune-Key-Id"] not in self.accepted_keys:
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


def after_two(fake, change):
    """A check that makes a change once two items were judged."""
    changes = []

    def look(drain):
        if not changes and len(fake.items) >= 2:
            changes.append(change())

    return look


def rotate(fake, grader, **more):
    """Rotate, and let the fake accept only the new secret."""
    fake.secret = credentials.rotate(grader, **more)
    fake.accepted_keys = {GraderSecret.objects.get(current=True).key_id}


@pytest.mark.parametrize("grace_hours", [24, 0])
def test_a_401_to_the_previous_secret_is_retried_with_the_current_one(fake, grader, make, watched, grace_hours):
    old = GraderSecret.objects.get().key_id
    make(5)
    watched(after_two(fake, lambda: rotate(fake, grader, grace_hours=grace_hours)))
    (new,) = fake.accepted_keys
    assert statuses() == ["completed"] * 5
    assert WorkflowRun.objects.filter(failures__gt=0).count() == 0
    assert fake.keys == [
        old,
        old,
        old,
        new,
        new,
        new,
    ]  # one call was repeated, the next are signed with the new secret at once
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (0, "active")
    assert GraderSecret.objects.get(current=True).confirmed is (grace_hours > 0)  # a sole secret needs no telling


def test_in_the_grace_period_a_grader_with_only_the_old_secret_still_works(fake, grader, make, watched):
    make(5)
    watched(after_two(fake, lambda: credentials.rotate(grader)))
    assert statuses() == ["completed"] * 5
    assert set(fake.keys) == {GraderSecret.objects.get(current=False).key_id}
    assert not GraderSecret.objects.get(current=True).confirmed


def test_a_grader_that_refuses_both_secrets_is_called_once_more_only(fake, grader, make, watched):
    (run,) = make()
    credentials.rotate(grader)
    fake.accepted_keys = set()
    watched(lambda drain: False)
    run.refresh_from_db()
    assert (run.status, run.error_code, len(fake.keys)) == ("failed", "auth_failed", 2)
    grader.refresh_from_db()
    assert grader.auth_failures == 1


def test_three_refusals_in_a_row_make_the_grader_degraded_and_a_good_answer_active_again(fake, grader, make, watched):
    make(3)
    fake.accepted_keys = set()
    watched(lambda drain: False)
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (3, "degraded")
    fake.accepted_keys = None
    make()
    watched(lambda drain: False)
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (0, "active")


def test_a_grader_that_is_switched_off_gets_no_further_calls(fake, grader, make, watched, monkeypatch):
    monkeypatch.setattr(engine_drain, "REFRESH_S", 0.0)
    make(6)
    work = watched(after_two(fake, lambda: Grader.objects.update(status="inactive")))
    assert work.stopped
    assert 2 <= len(fake.items) <= 3
    assert statuses() == ["completed"] * len(fake.items) + ["pending"] * (6 - len(fake.items))


def test_responses_to_open_calls_count_even_if_the_grader_is_switched_off(fake, grader, make, watched, monkeypatch):
    monkeypatch.setattr(engine_drain, "REFRESH_S", 0.0)
    make(1)
    Grader.objects.update(max_concurrency=2)  # room in the window, so that the drain looks while a call is out
    fake.gate.clear()

    def look(drain):
        if fake.calls and Grader.objects.update(status="inactive"):
            threading.Timer(0.1, fake.gate.set).start()

    watched(look)
    assert statuses() == ["completed"]


def test_new_limits_apply_to_later_calls(fake, grader, make, watched, monkeypatch):
    monkeypatch.setattr(engine_drain, "REFRESH_S", 0.0)
    make(9)
    watched(after_two(fake, lambda: Grader.objects.update(max_batch_size=10)))
    paths = [path for path, _ in fake.calls]
    assert paths[:2] == ["/score"] * 2
    assert paths[-1] == "/score/batch"
    assert sorted(set(fake.items)) == sorted(fake.items)
    assert statuses() == ["completed"] * 9
