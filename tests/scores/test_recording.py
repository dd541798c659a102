"""Saving what a grader said: once, whatever the number of attempts and savers, and the same rows on either engine."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Count

from graders.gateway.types import Dimension
from graders.models import Tally
from scores import claims, recording, transitions
from scores.materials import Facts
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunStatus
from tests.concurrency import together
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory
from tests.results import claim, judged, missed, save

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


class Bench:
    """A task with a panel of one, and short ways to run, judge and save for it."""

    def __init__(self, **task):
        self.task = TaskFactory(**task)
        self.grader = self.task.version.members.get().grader

    def run(self, **fields):
        return RunFactory(completion=CompletionFactory(task=self.task), **fields)

    def judged(self, claimed, *values, **verdict):
        return judged(claimed, *values, version_id=self.task.version_id, **verdict)

    def save(self, good=(), bad=()):
        save(self.grader, good, bad)


@pytest.fixture
def bench(db):
    return Bench()


def row(run):
    """(status, error code, attempt, failures) of a run as stored."""
    run.refresh_from_db()
    return run.status, run.error_code, run.attempt, run.failures


# --- what is written ------------------------------------------------------------------------------------------------


def test_a_success_is_a_completed_run_a_score_and_a_reward(bench):
    run = bench.run(error_code="timeout", error_message="No answer.", error_repeats=2, failures=2, attempt=2)
    before = datetime.now(UTC) - timedelta(seconds=1)
    dimensions = (Dimension("clarity", 0.25, 0.5), Dimension("größe", 1.0, 0.5))
    bench.save([bench.judged(claim(run), 0.75, 0.5, reasoning="Because.", dimensions=dimensions)])

    assert row(run) == ("completed", "", 3, 2)
    assert (run.error_message, run.error_repeats, run.leased_until, run.wake_at) == ("", 0, None, None)
    assert before < run.completed_at < datetime.now(UTC) + timedelta(seconds=1)

    score = Score.objects.get()
    assert (score.run_id, score.completion_id, score.task_id) == (run.pk, run.completion_id, run.task_id)
    assert (score.organization_id, score.grader_id) == (run.organization_id, bench.grader.pk)
    assert (score.grader_version_id, score.shadow) == (bench.grader.version_id, False)
    assert (score.value, score.confidence, score.raw_value, score.reasoning) == (0.75, 0.5, 0.75, "Because.")
    assert score.dimensions == [
        {"name": "clarity", "value": 0.25, "weight": 0.5},
        {"name": "größe", "value": 1.0, "weight": 0.5},
    ]
    assert before < score.created_at < datetime.now(UTC) + timedelta(seconds=1)

    reward = Reward.objects.get()
    assert (reward.completion_id, reward.task_id) == (run.completion_id, run.task_id)
    assert (reward.organization_id, reward.aggregation) == (run.organization_id, "mean")
    assert (reward.value, reward.confidence, reward.used, reward.failed, reward.error_code) == (0.75, 0.5, 1, 0, "")
    assert before < reward.scored_at < datetime.now(UTC) + timedelta(seconds=1)


def test_what_the_grader_did_not_say_is_null(bench):
    bench.save([bench.judged(claim(bench.run()))])
    assert Score.objects.values_list("reasoning", "dimensions").get() == (None, None)


def test_no_dimensions_at_all_is_an_empty_list(bench):
    bench.save([bench.judged(claim(bench.run()), dimensions=())])
    assert Score.objects.get().dimensions == []


def test_the_last_failure_is_a_failed_run_and_a_reward_without_a_value(bench):
    run = bench.run(failures=4)
    bench.save(bad=[missed(claim(run), "grader_unavailable", "The grader answered 503.", repeats=3)])
    assert row(run) == ("failed", "grader_unavailable", 1, 5)
    assert (run.error_message, run.error_repeats, run.leased_until) == ("The grader answered 503.", 3, None)
    assert run.completed_at is not None
    assert Score.objects.count() == 0
    reward = Reward.objects.get()
    assert (reward.value, reward.confidence, reward.used, reward.failed) == (None, None, 0, 1)
    assert (reward.error_code, reward.aggregation) == ("grader_unavailable", "mean")


def test_a_failure_before_the_last_lets_the_run_sleep(bench):
    run = bench.run()
    bench.save(bad=[missed(claim(run), wake_at=LATER, repeats=2)])
    assert row(run) == ("sleeping", "timeout", 1, 1)
    assert (run.wake_at, run.error_repeats, run.leased_until, run.completed_at) == (LATER, 2, None, None)
    assert Reward.objects.count() == 0


def test_what_was_never_called_for_counts_no_failed_attempt(bench):
    run = bench.run()
    bench.save(bad=[missed(claim(run), "deadline_exceeded", repeats=0, called=False)])
    assert row(run) == ("failed", "deadline_exceeded", 1, 0)
    assert Tally.objects.count() == 0


def test_one_save_takes_successes_failures_and_sleepers_together(bench):
    runs = [bench.run() for _ in range(3)]
    good, bad, asleep = map(claim, runs)
    bench.save([bench.judged(good)], [missed(bad), missed(asleep, wake_at=LATER)])
    assert [row(run)[0] for run in runs] == ["completed", "failed", "sleeping"]
    tally = Tally.objects.get()
    assert (tally.scored, tally.errors) == (1, {"timeout": 2})


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [("mean", 0.75), ("confidence_weighted", 0.75), ("median", 0.75), ("min", 0.75), ("max", 0.75),
     ("all_or_nothing", 0.0)],
)  # fmt: skip
def test_the_reward_of_a_sole_grader_follows_the_aggregation(db, aggregation, value):
    bench = Bench(aggregation=aggregation)
    bench.save([bench.judged(claim(bench.run()), 0.75, 0.0)])
    assert Reward.objects.values_list("value", "aggregation").get() == (value, aggregation)
    assert Score.objects.get().value == 0.75


def test_a_shadow_score_is_kept_and_makes_no_reward(bench):
    run = bench.run(panel_size=0)
    bench.save([bench.judged(claim(run))])
    assert (Score.objects.get().shadow, Reward.objects.count()) == (True, 0)


def test_a_failed_shadow_makes_no_reward(bench):
    bench.save(bad=[missed(claim(bench.run(panel_size=0)))])
    assert (WorkflowRun.objects.get().status, Reward.objects.count()) == ("failed", 0)


def test_reasoning_lies_encrypted_under_its_own_row(bench):
    bench.save([bench.judged(claim(bench.run()), reasoning="a secret thought " * n) for n in (1, 2)])
    texts = {score.reasoning for score in Score.objects.all()}
    assert texts == {"a secret thought ", "a secret thought " * 2}
    with connection.cursor() as cursor:
        cursor.execute("select reasoning from scores_score")
        assert not any(b"secret" in bytes(stored) for (stored,) in cursor.fetchall())


def test_a_long_message_is_cut_and_a_run_that_sleeps_has_it_too(bench):
    ended, asleep = bench.run(), bench.run()
    long = "é" * 10_000
    bench.save(bad=[missed(claim(ended), message=long), missed(claim(asleep), message=long, wake_at=LATER)])
    for run in (ended, asleep):
        run.refresh_from_db()
        assert run.error_message == "é" * 600


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.001, 1.001])
@pytest.mark.parametrize("member", ["value", "confidence"])
def test_a_number_that_is_no_score_cannot_be_stored(bench, member, value):
    run = bench.run()
    held = claim(run)
    numbers = {"value": 0.5, "confidence": 0.5, member: value}
    with pytest.raises(IntegrityError):
        bench.save([bench.judged(held, numbers["value"], numbers["confidence"])])
    assert (row(run)[0], Score.objects.count(), Reward.objects.count()) == ("running", 0, 0)


def test_saving_nothing_writes_nothing(bench):
    bench.save()
    assert Tally.objects.count() == 0


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
def test_a_late_success_counts_once_whatever_became_of_the_lease(bench, status):
    run = bench.run()
    late = claim(run)
    WorkflowRun.objects.update(status=status, attempt=2, leased_until=None, wake_at=LATER)
    bench.save([bench.judged(late, 0.25)])
    assert (row(run)[0], run.wake_at, Score.objects.get().value) == ("completed", None, 0.25)
    bench.save([bench.judged(late, 0.25)])
    assert Score.objects.count() == Reward.objects.count() == 1


@pytest.mark.parametrize("wake_at", [None, LATER])
def test_a_late_failure_of_an_old_attempt_is_ignored(bench, wake_at):
    run = bench.run()
    late = claim(run)
    claim(run)  # a rival's, after the lease ran out
    bench.save(bad=[missed(late, wake_at=wake_at)])
    assert row(run) == ("running", "", 2, 0)
    assert Reward.objects.count() == 0


@pytest.mark.parametrize("status", ["pending", "sleeping", "completed", "failed", "waiting"])
@pytest.mark.parametrize("wake_at", [None, LATER])
def test_a_failure_moves_only_a_run_that_is_still_leased(bench, status, wake_at):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.update(status=status, leased_until=None)
    bench.save(bad=[missed(held, wake_at=wake_at)])
    assert row(run) == (status, "", 1, 0)


def test_a_run_that_was_closed_meanwhile_gets_no_score(bench):
    run = bench.run()
    held = claim(run)
    transitions.advance(run, RunStatus.FAILED, error_code="cancelled")
    bench.save([bench.judged(held)])
    assert (row(run)[:2], Score.objects.count(), Reward.objects.count()) == (("failed", "cancelled"), 0, 0)


def test_a_run_that_waits_for_a_person_is_not_completed_by_an_answer(bench):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.update(status="waiting")
    bench.save([bench.judged(held)])
    assert (row(run)[0], Score.objects.count(), Reward.objects.count()) == ("waiting", 0, 0)


def test_the_others_of_a_group_are_saved_although_one_was_closed(bench):
    runs = [bench.run() for _ in range(3)]
    held = [claim(run) for run in runs]
    WorkflowRun.objects.filter(pk=runs[1].pk).update(status="failed", error_code="cancelled")
    bench.save([bench.judged(one) for one in held])
    assert [row(run)[0] for run in runs] == ["completed", "failed", "completed"]
    assert set(Score.objects.values_list("run_id", flat=True)) == {runs[0].pk, runs[2].pk}


def test_the_database_itself_refuses_a_second_score_of_a_run(bench):
    score = ScoreFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        ScoreFactory(run=score.run, reward=False)


def test_a_run_that_nobody_holds_may_be_failed_without_a_lease(bench):
    asleep, done = bench.run(status="sleeping", wake_at=LATER), ScoreFactory().run
    saved = [recording.Saved(run.pk, run.completion_id, run.task_id, run.organization_id, 1) for run in (asleep, done)]
    assert recording.fail(saved, "grader_gone", "It is gone.", Facts()) == 1
    assert (row(asleep), row(done)[0]) == (("failed", "grader_gone", 0, 0), "completed")
    assert Reward.objects.get(pk=asleep.completion_id).error_code == "grader_gone"


def test_a_thousand_results_take_few_queries(bench, vendor, django_assert_max_num_queries):
    runs = [bench.run() for _ in range(1_000)]
    held = claims.take(bench.grader.pk, limit=1_000)
    with django_assert_max_num_queries(10 if vendor == "postgresql" else 40):  # SQLite inserts in parts
        bench.save([bench.judged(one, reasoning="r", dimensions=(Dimension("d", 1, 1),)) for one in held])
    assert Score.objects.count() == Reward.objects.count() == len(runs)


@pytest.mark.postgres
def test_a_thousand_failures_take_few_queries(bench, django_assert_max_num_queries):
    for _ in range(1_000):
        bench.run()
    held = claims.take(bench.grader.pk, limit=1_000)
    with django_assert_max_num_queries(10):
        bench.save(bad=[missed(one, wake_at=LATER if n % 2 else None) for n, one in enumerate(held)])
    assert set(WorkflowRun.objects.values_list("status").annotate(Count("pk"))) == {("failed", 500), ("sleeping", 500)}


# --- several savers at once -----------------------------------------------------------------------------------------


@pytest.mark.postgres
@COMMITTED
def test_savers_of_overlapping_groups_leave_one_score_each(bench):
    held = [claim(bench.run()) for _ in range(120)]
    parts = [held[:80], list(reversed(held[40:])), held[20:100]]
    together(
        *(
            lambda n=number, part=part: bench.save([bench.judged(one, n / 10) for one in part])
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
def test_of_a_success_and_a_cancel_at_the_same_moment_one_wins(bench):
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
        assert (row(run)[0] == "failed") is cancelled is not Score.objects.filter(run=run).exists()
