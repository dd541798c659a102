"""Saving a grader's results: the same rows on either engine, in few queries."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection

from graders.models import Tally
from graders.verdicts import Dimension
from scores.models import Reward, Score, WorkflowRun
from tests.support.results import Bench, claim, missed, state

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def bench(db):
    return Bench()


# --- what is written ------------------------------------------------------------------------------------------------


def test_a_success_is_a_completed_run_a_score_and_a_reward(bench):
    run = bench.run(error_code="timeout", error_message="No answer.", error_repeats=2, failures=2, attempt=2)
    before = datetime.now(UTC) - timedelta(seconds=1)
    dimensions = (Dimension("clarity", 0.25, 0.5), Dimension("größe", 1.0, 0.5))
    bench.save([bench.judged(claim(run), 0.75, 0.5, reasoning="Because.", dimensions=dimensions)])

    assert state(run) == ("completed", "", 3, 2)
    assert (run.error_message, run.error_repeats, run.leased_until, run.wake_at) == ("", 0, None, None)
    assert before < run.completed_at < datetime.now(UTC) + timedelta(seconds=1)

    score = Score.objects.get()
    assert (score.run_id, score.completion_id, score.task_id) == (run.pk, run.completion_id, run.task_id)
    assert (score.organization_id, score.grader_id) == (run.organization_id, bench.grader.pk)
    assert (score.grader_version_id, score.purpose) == (bench.grader.version_id, "score")
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


def test_omitted_members_are_null(bench):
    bench.save([bench.judged(claim(bench.run()))])
    assert Score.objects.values_list("reasoning", "dimensions").get() == (None, None)


def test_no_dimensions_at_all_is_an_empty_list(bench):
    bench.save([bench.judged(claim(bench.run()), dimensions=())])
    assert Score.objects.get().dimensions == []


def test_the_last_failure_is_a_failed_run_and_a_reward_without_a_value(bench):
    run = bench.run(failures=4)
    bench.save(bad=[missed(claim(run), "grader_unavailable", "The grader answered 503.", repeats=3)])
    assert state(run) == ("failed", "grader_unavailable", 1, 5)
    assert (run.error_message, run.error_repeats, run.leased_until) == ("The grader answered 503.", 3, None)
    assert run.completed_at is not None
    assert Score.objects.count() == 0
    reward = Reward.objects.get()
    assert (reward.value, reward.confidence, reward.used, reward.failed) == (None, None, 0, 1)
    assert (reward.error_code, reward.aggregation) == ("grader_unavailable", "mean")


def test_a_failure_before_the_last_attempt_puts_the_run_to_sleep(bench):
    run = bench.run()
    bench.save(bad=[missed(claim(run), wake_at=LATER, repeats=2)])
    assert state(run) == ("sleeping", "timeout", 1, 1)
    assert (run.wake_at, run.error_repeats, run.leased_until, run.completed_at) == (LATER, 2, None, None)
    assert Reward.objects.count() == 0


def test_a_run_that_was_never_called_counts_no_failed_attempt(bench):
    run = bench.run()
    bench.save(bad=[missed(claim(run), "deadline_exceeded", repeats=0, called=False)])
    assert state(run) == ("failed", "deadline_exceeded", 1, 0)
    assert Tally.objects.count() == 0


def test_one_save_takes_successes_failures_and_sleepers_together(bench):
    runs = [bench.run() for _ in range(3)]
    good, bad, asleep = map(claim, runs)
    bench.save([bench.judged(good)], [missed(bad), missed(asleep, wake_at=LATER)])
    assert [state(run)[0] for run in runs] == ["completed", "failed", "sleeping"]
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


def test_a_shadow_score_is_stored_and_creates_no_reward(bench):
    run = bench.run(panel_size=0)
    bench.save([bench.judged(claim(run))])
    assert (Score.objects.get().purpose, Reward.objects.count()) == ("shadow", 0)


def test_a_failed_shadow_run_creates_no_reward(bench):
    bench.save(bad=[missed(claim(bench.run(panel_size=0)))])
    assert (WorkflowRun.objects.get().status, Reward.objects.count()) == ("failed", 0)


def test_reasoning_is_encrypted_for_its_own_row(bench):
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
    assert (state(run)[0], Score.objects.count(), Reward.objects.count()) == ("running", 0, 0)


def test_saving_nothing_writes_nothing(bench):
    bench.save()
    assert Tally.objects.count() == 0
