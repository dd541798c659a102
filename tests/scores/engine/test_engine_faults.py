"""What must not follow from an error, a rival or a late look in the middle of a drain or a save."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from autotune.core.clock import database_now
from autotune.core.outbound import engine
from scores.engine import claims, recording, sweep
from scores.engine.call_results import CallResults, PostponedRun
from scores.engine.materials import TaskFactsCache
from scores.models import Review, Score, WorkflowRun
from scores.reviews import opening
from scores.states import WaitKind
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.concurrency import aside
from tests.support.results import claim, judged, state


def runs_of(task, count):
    return [RunFactory(completion=CompletionFactory(task=task, response=str(n))) for n in range(count)]


def away(*args, **more):
    raise OperationalError("the database is away")


def test_a_failed_drain_leaves_neither_calls_nor_slots_to_the_next(db, fake, drain, monkeypatch):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=2)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 8)
    with monkeypatch.context() as broken:
        broken.setattr(recording, "save", away)
        broken.setattr(claims, "give_back", away)
        with pytest.raises(OperationalError):
            drain(grader)
    assert not engine.engine().poll(0)
    WorkflowRun.objects.update(status="pending", leased_until=None)
    drain(grader)
    assert Score.objects.count() == 8


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_saving_sure_and_doubtful_verdicts_beside_a_rival_never_deadlocks(monkeypatch):
    task = TaskFactory(review_below_confidence=0.5)
    grader = task.version.members.get().grader
    held = sorted((claim(run) for run in runs_of(task, 2)), key=lambda claimed: claimed.run_id)
    until = database_now() + timedelta(days=1)
    accepted = CallResults(accepted=[PostponedRun(claimed, WaitKind.CALLBACK, until, "accepted") for claimed in held])
    rivals = []

    def open_after_a_rival_came(*args):
        rivals.append(aside(lambda: recording.save(grader.pk, grader.version_id, accepted, TaskFactsCache())))
        return opened(*args)

    opened = opening.open
    monkeypatch.setattr(recording.opening, "open", open_after_a_rival_came)
    verdicts = [
        judged(held[0], confidence=0.1, version_id=task.version_id),
        judged(held[1], confidence=0.9, version_id=task.version_id),
    ]
    assert len(recording.save_callback(grader.pk, grader.version_id, verdicts, [], TaskFactsCache())) == 2
    rivals[0].result(10)
    assert set(WorkflowRun.objects.values_list("status", "waits_for")) == {("completed", ""), ("waiting", "review")}


def test_the_sweep_does_not_end_a_run_that_went_to_a_reviewer(db, monkeypatch):
    task = TaskFactory(review_below_confidence=0.5)
    grader = task.version.members.get().grader
    held = claim(runs_of(task, 1)[0])
    WorkflowRun.objects.update(status="waiting", waits_for="callback", wake_at=database_now() - timedelta(minutes=1))
    fail = recording.fail

    def the_callback_comes_first(*args, **more):
        doubtful = judged(held, confidence=0.1, version_id=task.version_id)
        recording.save_callback(grader.pk, grader.version_id, [doubtful], [], TaskFactsCache())
        return fail(*args, **more)

    monkeypatch.setattr(recording, "fail", the_callback_comes_first)
    sweep.sweep()
    assert WorkflowRun.objects.get().waits_for == "review"
    assert Review.objects.get().status == "open"


def test_the_first_of_two_verdicts_on_one_run_counts(db):
    task = TaskFactory()
    grader = task.version.members.get().grader
    run = runs_of(task, 1)[0]
    held = claim(run)
    both = [judged(held, value, version_id=task.version_id) for value in (0.25, 0.75)]
    recording.save(grader.pk, grader.version_id, CallResults(both), TaskFactsCache())
    assert (state(run)[0], Score.objects.get().value) == ("completed", 0.25)


def test_the_token_of_a_run_past_its_deadline_is_returned(db, fake, drain):
    """A new bucket of six a minute holds one token; the next comes after ten seconds, for which runs would sleep."""
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, rate_per_minute=6)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    (late,) = runs_of(task, 1)
    WorkflowRun.objects.update(deadline_at=database_now() - timedelta(seconds=1))
    (other,) = runs_of(task, 1)
    drain(grader)
    assert (state(late)[0], state(other)[0]) == ("failed", "completed")
