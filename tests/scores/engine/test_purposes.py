"""The purposes of runs: only `score` counts, and background purposes get at most a tenth of a busy drain."""

import pytest
from django.db import IntegrityError, transaction

from autotune.webhooks.models import Event
from graders.models import Tally
from scores.engine import claims, stalls, sweep
from scores.engine.claims import BackgroundShare
from scores.models import Review, Reward, Score, WorkflowRun
from scores.states import BACKGROUND, BACKGROUND_PRIORITY, RunPurpose
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, WebhookFactory
from tests.support.results import Bench, claim, missed

BACKGROUND_NAMES = [purpose.value for purpose in BACKGROUND]


def background(purpose="canary", **fields):
    return {"purpose": purpose, "panel_size": 0, "priority": BACKGROUND_PRIORITY, **fields}


@pytest.fixture
def bench(db):
    return Bench()


@pytest.fixture
def grader(db):
    return GraderFactory()


@pytest.fixture
def make(grader):
    task = TaskFactory(organization=grader.organization, graders=[grader])
    return lambda count, **fields: [RunFactory(completion=CompletionFactory(task=task), **fields) for _ in range(count)]


def purposes(claimed):
    return [run.purpose for run in claimed]


@pytest.mark.parametrize(
    "fields",
    [
        {"purpose": "score", "panel_size": 0},
        {"purpose": "shadow", "panel_size": 1},
        {"purpose": "canary", "panel_size": 0},
        {"purpose": "gold", "panel_size": 1, "priority": BACKGROUND_PRIORITY},
        {"purpose": "score", "panel_size": 1, "priority": BACKGROUND_PRIORITY},
        {"purpose": "test", "panel_size": 0},
    ],
)
def test_purpose_panel_and_priority_agree_in_every_row(make, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        make(1, **fields)


@pytest.mark.parametrize("purpose", [RunPurpose.SHADOW.value, *BACKGROUND_NAMES])
def test_a_score_of_another_purpose_is_kept_and_changes_nothing(bench, purpose):
    WebhookFactory(organization=bench.task.organization, events=["score.completed", "score.failed"])
    first = bench.run()
    bench.save([bench.judged(claim(first), 0.5)])
    events = Event.objects.count()
    fields = {"purpose": "shadow", "panel_size": 0} if purpose == "shadow" else background(purpose)
    other = RunFactory(completion=first.completion, grader=bench.grader, generation=1, **fields)
    bench.save([bench.judged(claim(other), 0.1)])
    assert list(Score.objects.order_by("id").values_list("purpose", "value", "superseded")) == [
        ("score", 0.5, False), (purpose, 0.1, False),
    ]  # fmt: skip
    assert (Reward.objects.get().value, Event.objects.count()) == (0.5, events)


@pytest.mark.parametrize("purpose", BACKGROUND_NAMES)
def test_a_failure_of_another_purpose_creates_no_reward(bench, purpose):
    bench.save(bad=[missed(claim(bench.run(**background(purpose))))])
    assert (Reward.objects.count(), WorkflowRun.objects.get().status) == (0, "failed")


@pytest.mark.parametrize("purpose", BACKGROUND_NAMES)
def test_an_unsure_score_of_another_purpose_opens_no_review(purpose, db):
    bench = Bench(review_below_confidence=0.9)
    bench.save([bench.judged(claim(bench.run(**background(purpose))), 0.5, 0.1)])
    assert (Review.objects.count(), Score.objects.get().purpose) == (0, purpose)


def test_a_completion_does_not_wait_for_background_runs(bench):
    run = bench.run()
    RunFactory(completion=run.completion, grader=bench.grader, **background())
    bench.save([bench.judged(claim(run), 0.5)])
    assert Reward.objects.get().value == 0.5


def test_background_results_are_no_part_of_the_grader_s_figures(bench):
    judged = bench.judged(claim(bench.run(**background())), 0.5)
    bench.save([judged], [missed(claim(bench.run(**background("gold"))))])
    assert sum(tally.scored for tally in Tally.objects.all()) == 0
    assert not any(tally.errors for tally in Tally.objects.all())


def test_scores_are_claimed_before_background_work(make, grader):
    make(3, **background("impact"))
    make(2, priority=0)
    assert purposes(claims.take(grader.pk, limit=2)) == ["score", "score"]
    assert purposes(claims.take(grader.pk, limit=5)) == ["impact"] * 3
    assert claims.take(grader.pk, limit=5) == []


def test_a_claim_that_scores_do_not_fill_takes_background_work(make, grader):
    make(4, **background())
    make(2)
    assert purposes(claims.take(grader.pk, limit=5)) == ["score", "score", "canary", "canary", "canary"]


def test_the_share_of_a_full_claim_is_no_more_than_the_caller_allows(make, grader):
    make(5, **background())
    make(10)
    assert purposes(claims.take(grader.pk, limit=6, background=2)) == ["score"] * 4 + ["canary"] * 2
    assert purposes(claims.take(grader.pk, limit=6, background=0)) == ["score"] * 6
    assert WorkflowRun.objects.filter(status="running").count() == 12


def test_a_claim_of_one_run_takes_a_score(make, grader):
    make(1, **background())
    make(1)
    assert purposes(claims.take(grader.pk, limit=1)) == ["score"]
    assert purposes(claims.take(grader.pk, limit=1)) == ["canary"]


def test_shadow_runs_keep_the_priority_of_their_completion(make, grader):
    make(1, panel_size=1)
    make(1, panel_size=0, priority=2)
    assert purposes(claims.take(grader.pk, limit=2)) == ["shadow", "score"]


@pytest.mark.parametrize("limit", [1, 7, 64, 512])
def test_background_work_gets_at_most_a_tenth_while_scores_are_due(limit):
    share, scores, others = BackgroundShare(), 0, 0
    for _ in range(200):
        taken = min(share.earned, limit)
        claimed = [_Run("canary")] * taken + [_Run("score")] * (limit - taken)
        share.note(claimed, limit)
        scores, others = scores + limit - taken, others + taken
        assert others <= (scores + others) / 10
    assert others >= (scores + others) * 0.09


def test_background_work_that_met_no_scores_uses_no_share_up():
    share = BackgroundShare()
    share.note([_Run("score")] * 9, 9)
    share.note([_Run("gold")] * 5, 9)
    assert share.earned == 1


class _Run:
    def __init__(self, purpose):
        self.purpose = purpose


def test_a_drain_judges_everything_that_is_due(make, grader, fake, drain):
    grader.endpoint = fake.url
    grader.save()
    make(12, **background("gold"))
    make(30)
    make(3, panel_size=0)
    drain(grader)
    assert WorkflowRun.objects.exclude(status="completed").count() == 0
    assert sorted(set(Score.objects.values_list("purpose", flat=True))) == ["gold", "score", "shadow"]


def test_the_sweep_and_the_check_of_stalled_queues_see_background_work(make, grader):
    (run,) = make(1, **background())
    assert sweep.due_graders(claims.database_now()) == [grader.pk]
    WorkflowRun.objects.update(created_at=claims.database_now() - 2 * stalls.STILL)
    assert stalls.read().still == {(grader.pk, run.pk)}


def test_background_work_behind_scores_is_no_sign_of_a_stalled_queue(make, grader):
    make(1, **background())
    WorkflowRun.objects.update(created_at=claims.database_now() - 2 * stalls.STILL)
    (run,) = make(1)
    facts = stalls.read()
    assert facts.still == frozenset()
    assert facts.oldest_due == run.created_at
