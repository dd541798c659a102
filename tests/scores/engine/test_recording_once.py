"""Saving the same run more than once: the first valid answer of any attempt wins, whatever the number of savers."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Count

from graders.models import Tally
from graders.verdicts import Dimension
from scores.engine import claims, recording, transitions
from scores.engine.materials import TaskFactsCache
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunStatus
from tests.factories import ScoreFactory
from tests.support.concurrency import together
from tests.support.results import Bench, claim, missed, state

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def bench(db):
    return Bench()


# --- once, and the first valid answer wins ---------------------------------------------------------------------------


def test_the_same_result_saved_again_changes_nothing(bench):
    run = bench.run()
    held = claim(run)
    bench.save([bench.judged(held, 0.25)])
    stored = Score.objects.values().get()
    bench.save([bench.judged(held, 0.25)])
    assert Score.objects.values().get() == stored
    assert sum(Tally.objects.values_list("scored", flat=True)) == 1


def test_the_first_answer_stays_when_a_later_one_differs(bench):
    run = bench.run()
    first, second = claim(run), claim(run)
    bench.save([bench.judged(second, 0.25)])
    bench.save([bench.judged(first, 0.75)])
    assert (Score.objects.get().value, Reward.objects.get().value) == (0.25, 0.25)


@pytest.mark.parametrize("status", ["pending", "running", "sleeping"])
def test_a_late_success_counts_once_in_any_lease_state(bench, status):
    run = bench.run()
    late = claim(run)
    WorkflowRun.objects.update(status=status, attempt=2, leased_until=None, wake_at=LATER)
    bench.save([bench.judged(late, 0.25)])
    assert (state(run)[0], run.wake_at, Score.objects.get().value) == ("completed", None, 0.25)
    bench.save([bench.judged(late, 0.25)])
    assert Score.objects.count() == Reward.objects.count() == 1


@pytest.mark.parametrize("wake_at", [None, LATER])
def test_a_late_failure_of_an_old_attempt_is_ignored(bench, wake_at):
    run = bench.run()
    late = claim(run)
    claim(run)  # a rival's, after the lease ran out
    bench.save(bad=[missed(late, wake_at=wake_at)])
    assert state(run) == ("running", "", 2, 0)
    assert Reward.objects.count() == 0


@pytest.mark.parametrize("status", ["pending", "sleeping", "completed", "failed", "waiting"])
@pytest.mark.parametrize("wake_at", [None, LATER])
def test_a_failure_moves_only_a_run_that_is_still_leased(bench, status, wake_at):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.update(status=status, leased_until=None)
    bench.save(bad=[missed(held, wake_at=wake_at)])
    assert state(run) == (status, "", 1, 0)


def test_a_closed_run_gets_no_score(bench):
    run = bench.run()
    held = claim(run)
    transitions.advance(run, RunStatus.FAILED, error_code="cancelled")
    bench.save([bench.judged(held)])
    assert (state(run)[:2], Score.objects.count(), Reward.objects.count()) == (("failed", "cancelled"), 0, 0)


def test_a_run_that_waits_for_a_person_is_not_completed_by_an_answer(bench):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.update(status="waiting", waits_for="review")
    bench.save([bench.judged(held)])
    assert (state(run)[0], Score.objects.count(), Reward.objects.count()) == ("waiting", 0, 0)


def test_a_closed_run_does_not_prevent_saving_the_rest_of_a_group(bench):
    runs = [bench.run() for _ in range(3)]
    held = [claim(run) for run in runs]
    WorkflowRun.objects.filter(pk=runs[1].pk).update(status="failed", error_code="cancelled")
    bench.save([bench.judged(claimed) for claimed in held])
    assert [state(run)[0] for run in runs] == ["completed", "failed", "completed"]
    assert set(Score.objects.values_list("run_id", flat=True)) == {runs[0].pk, runs[2].pk}


def test_the_database_itself_refuses_a_second_score_of_a_run(bench):
    score = ScoreFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        ScoreFactory(run=score.run, reward=False)


def test_a_run_without_a_lease_may_be_failed(bench):
    asleep, done = bench.run(status="sleeping", wake_at=LATER), ScoreFactory().run
    saved = [
        recording.SavedRun(run.pk, run.completion_id, run.task_id, run.organization_id, 1) for run in (asleep, done)
    ]
    assert recording.fail(saved, "grader_gone", "It is gone.", TaskFactsCache()) == 1
    assert (state(asleep), state(done)[0]) == (("failed", "grader_gone", 0, 0), "completed")
    assert Reward.objects.get(pk=asleep.completion_id).error_code == "grader_gone"


def test_a_thousand_results_take_few_queries(bench, vendor, django_assert_max_num_queries):
    runs = [bench.run() for _ in range(1_000)]
    held = claims.take(bench.grader.pk, limit=1_000)
    with django_assert_max_num_queries(10 if vendor == "postgresql" else 50):  # SQLite inserts in parts
        bench.save([bench.judged(claimed, reasoning="r", dimensions=(Dimension("d", 1, 1),)) for claimed in held])
    assert Score.objects.count() == Reward.objects.count() == len(runs)


@pytest.mark.postgres
def test_a_thousand_failures_take_few_queries(bench, django_assert_max_num_queries):
    for _ in range(1_000):
        bench.run()
    held = claims.take(bench.grader.pk, limit=1_000)
    with django_assert_max_num_queries(17):
        bench.save(bad=[missed(claimed, wake_at=LATER if n % 2 else None) for n, claimed in enumerate(held)])
    assert set(WorkflowRun.objects.values_list("status").annotate(Count("pk"))) == {("failed", 500), ("sleeping", 500)}


# --- several savers at once -----------------------------------------------------------------------------------------


@pytest.mark.postgres
@COMMITTED
def test_savers_of_overlapping_groups_leave_one_score_each(bench):
    held = [claim(bench.run()) for _ in range(120)]
    parts = [held[:80], list(reversed(held[40:])), held[20:100]]
    together(
        *(
            lambda n=number, part=part: bench.save([bench.judged(claimed, n / 10) for claimed in part])
            for number, part in enumerate(parts)
        )
    )
    assert Score.objects.count() == Reward.objects.count() == 120
    assert set(WorkflowRun.objects.values_list("status", flat=True)) == {"completed"}
    assert sum(Tally.objects.values_list("scored", flat=True)) == 120
    rewards = dict(Reward.objects.values_list("completion_id", "value"))
    assert {score.completion_id: score.value for score in Score.objects.all()} == rewards


@pytest.mark.postgres
@COMMITTED
def test_of_a_concurrent_success_and_cancel_one_wins(bench):
    for _ in range(10):
        run = bench.run()
        held = claim(run)

        def cancel(run=run):
            try:
                transitions.advance(WorkflowRun.objects.get(pk=run.pk), RunStatus.FAILED, error_code="cancelled")
            except transitions.InvalidTransition:
                return False
            return True

        _, cancelled = together(lambda held=held: bench.save([bench.judged(held)]), cancel)
        assert (state(run)[0] == "failed") is cancelled is not Score.objects.filter(run=run).exists()
