"""The end of a model call: it resumes the run that waits for it, through the door of callbacks."""

from datetime import timedelta

import pytest

from autotune.core.clock import database_now
from graders.models import GraderVersion
from graders.verdicts import Failure, Verdict
from scores.callbacks import model_calls
from scores.callbacks.model_calls import ModelEnd
from scores.engine import recording, sweep, waits
from scores.engine.call_results import CallResults, PostponedRun
from scores.engine.materials import TaskFactsCache
from scores.models import Review, Reward, Score, WorkflowRun
from scores.states import WaitKind
from scores.workflow_runs import cancelling, steps
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.results import Bench, claim, missed

BUSY = Failure("rate_limited", "The provider is busy.", retryable=True)
REFUSED = Failure("grader_error", "The model refused.", trips=False)
HOUR = timedelta(hours=1)


@pytest.fixture
def bench(db):
    return Bench()


def wait(bench, run, *, ago=HOUR):
    """The run waits for a model since `ago`, as a drain saves it; the claim under which it waits."""
    claimed = claim(run)
    until = database_now() - ago + waits.MODEL_FOR
    postponed = PostponedRun(claimed, WaitKind.MODEL, until, "accepted", database_now() - ago)
    recording.save(bench.grader.pk, bench.grader.version_id, CallResults(accepted=[postponed]), TaskFactsCache())
    run.refresh_from_db()
    assert (run.status, run.waits_for, run.wake_at) == ("waiting", "model", until)
    return claimed


def end(bench, claimed, result, **changes):
    return ModelEnd(**{
        "run_id": claimed.run_id, "attempt": claimed.attempt, "grader_version_id": bench.grader.version_id,
        "result": result, **changes,
    })  # fmt: skip


@pytest.fixture
def run(bench):
    return bench.run()


def test_a_verdict_completes_the_run(bench, run, woken):
    claimed = wait(bench, run)
    assert model_calls.receive([end(bench, claimed, Verdict(0.75, 0.9))]) == {run.pk}
    run.refresh_from_db()
    assert (run.status, run.waits_for, run.wake_at, run.score.value) == ("completed", "", None, 0.75)
    assert Reward.objects.get().value == 0.75
    assert [step.step for step in steps.of(run)] == ["queue", "call", "model"]


def test_the_version_that_judged_is_stored(bench, run):
    older = GraderVersion.objects.create(grader=bench.grader, label="0.9")
    claimed = wait(bench, run)
    model_calls.receive([end(bench, claimed, Verdict(0.5, 0.9), grader_version_id=older.pk)])
    assert Score.objects.get().grader_version == older


def test_a_final_failure_fails_the_run(bench, run):
    claimed = wait(bench, run)
    model_calls.receive([end(bench, claimed, REFUSED)])
    run.refresh_from_db()
    assert (run.status, run.error_code, run.failures) == ("failed", "grader_error", 1)
    assert Reward.objects.get().error_code == "grader_error"


def test_a_temporary_failure_leads_to_another_attempt(bench, run):
    claimed = wait(bench, run)
    model_calls.receive([end(bench, claimed, BUSY)])
    run.refresh_from_db()
    assert (run.status, run.waits_for, run.error_code, run.failures) == ("sleeping", "", "rate_limited", 1)
    assert run.wake_at is not None
    assert Reward.objects.count() == 0


def test_a_call_that_must_be_made_again_makes_the_run_due_and_wakes_its_grader(bench, run, woken):
    claimed = wait(bench, run)
    moved, wakened = woken(lambda: model_calls.receive([end(bench, claimed, None)]))
    run.refresh_from_db()
    assert (moved, wakened) == ({run.pk}, [bench.grader.pk])
    assert (run.status, run.waits_for, run.wake_at, run.failures) == ("pending", "", None, 0)


@pytest.mark.parametrize("result", [None, BUSY])
def test_the_deadline_does_not_count_the_wait(bench, result):
    run = bench.run(deadline_at=database_now() + timedelta(minutes=1))
    before = run.deadline_at
    claimed = wait(bench, run, ago=timedelta(hours=30))
    sweep.sweep()
    model_calls.receive([end(bench, claimed, result)])
    run.refresh_from_db()
    assert run.status in ("pending", "sleeping")
    assert abs(run.deadline_at - before - timedelta(hours=30)) < timedelta(seconds=10)


def test_a_repeated_end_changes_nothing(bench, run):
    claimed = wait(bench, run)
    model_calls.receive([end(bench, claimed, Verdict(0.75, 0.9))])
    assert model_calls.receive([end(bench, claimed, Verdict(0.25, 0.9))]) == set()
    assert Score.objects.get().value == 0.75


def test_the_end_of_another_attempt_s_call_changes_nothing(bench, run):
    claimed = wait(bench, run)
    assert model_calls.receive([end(bench, claimed, Verdict(0.75, 0.9), attempt=claimed.attempt - 1)]) == set()
    run.refresh_from_db()
    assert run.status == "waiting"


def test_an_end_after_a_cancel_changes_nothing(bench, run):
    claimed = wait(bench, run)
    cancelling.cancel(run.pk)
    assert model_calls.receive([end(bench, claimed, Verdict(0.75, 0.9))]) == set()
    assert Score.objects.count() == 0


@pytest.mark.parametrize("waits_for", ["callback", "review"])
def test_a_run_that_waits_for_something_else_is_unchanged(bench, run, waits_for):
    claimed = wait(bench, run)
    WorkflowRun.objects.update(waits_for=waits_for)
    assert model_calls.receive([end(bench, claimed, None)]) == set()


def test_an_unsure_verdict_opens_a_review(db):
    bench = Bench(review_below_confidence=0.6)
    run = bench.run()
    claimed = wait(bench, run)
    model_calls.receive([end(bench, claimed, Verdict(0.75, 0.5))])
    run.refresh_from_db()
    assert (run.status, run.waits_for, Review.objects.get().value) == ("waiting", "review", 0.75)


def test_a_late_answer_of_the_attempt_itself_counts(bench, run):
    claimed = wait(bench, run)
    bench.save([bench.judged(claimed, 0.25)])
    assert Score.objects.get().value == 0.25
    assert model_calls.receive([end(bench, claimed, Verdict(0.75, 0.9))]) == set()


def test_a_failure_of_an_older_attempt_does_not_touch_the_wait(bench, run):
    older = claim(run)
    wait(bench, run)
    bench.save(bad=[missed(older), missed(older, wake_at=database_now() + HOUR)])
    run.refresh_from_db()
    assert (run.status, run.waits_for) == ("waiting", "model")


def test_many_ends_of_several_graders_and_versions_are_applied_together(db):
    graders = [GraderFactory() for _ in range(2)]
    task = TaskFactory(organization=graders[0].organization, graders=graders)
    completion = CompletionFactory(task=task)
    ends, runs = [], []
    for grader, result in zip(graders, (Verdict(0.2, 0.9), Verdict(0.6, 0.9)), strict=True):
        bench = Bench(graders=[grader])
        run = RunFactory(completion=completion, grader=grader, panel_size=2)
        ends.append(end(bench, wait(bench, run), result))
        runs.append(run)
    assert model_calls.receive(ends) == {run.pk for run in runs}
    assert Reward.objects.get().value == pytest.approx(0.4)


def test_ending_no_calls_is_no_error(db):
    assert model_calls.receive([]) == set()


def test_a_wait_that_expires_fails_with_a_code_of_its_own(bench, run):
    wait(bench, run, ago=waits.MODEL_FOR + HOUR)
    sweep.sweep()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "model_expired")
    assert run.error_message == "The model call that judges the completion did not end in time."


def test_runs_of_a_deleted_grader_stop_waiting(bench, run):
    wait(bench, run)
    type(bench.grader).objects.update(deleted_at=database_now())
    sweep.sweep()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "grader_gone")
