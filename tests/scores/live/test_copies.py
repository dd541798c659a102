"""A record that waits for an equal one never ends without a judgement, whatever happens to that one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from autotune.access.principal import Principal
from graders.models import Tally
from scores.engine import copies, sweep
from scores.intake import rescoring
from scores.models import Review, Reward, Score, WorkflowRun
from scores.retention import deleting, erasing, purging
from scores.reviews import decisions
from scores.reviews.decisions import ReviewDecision, Reviewer
from scores.workflow_runs import cancelling, retrying
from tasks.models import Completion
from tests.factories import GraderFactory, TaskFactory, UserFactory, public
from tests.scores.live.judging import due, fail, judge
from tests.scores.live.test_reuse import LONG_AGO, newer

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(trainer):
    """The run of model B that waits until a grader has judged "good" for model A."""
    trainer.ask("good", modelId="A")
    trainer.ask("good", modelId="B")
    return run_of("B")


@pytest.fixture
def copied(trainer):
    trainer.ask("good", modelId="A")
    judge()
    trainer.ask("good", modelId="B")
    return Score.objects.get(completion__model_id="B")


def run_of(model, **more):
    return WorkflowRun.objects.filter(completion__model_id=model, **more).latest("pk")


def completion_of(model):
    return Completion.objects.filter(model_id=model).latest("pk")


def principal(key):
    return Principal(key.organization, key.role, key.user, key)


def is_judged_itself(model="B", value=1.0):
    """Whether graders judge the model's record after a sweep, so that its score is no copy."""
    sweep.sweep(passes=1)
    assert [run.completion.model_id for run in due()].count(model) == 1
    judge({"good": value})
    score = Score.objects.get(completion__model_id=model)
    return (score.value, score.reused_from) == (value, None)


class TestSourcesWithoutAScoreToCopy:
    def test_one_that_fails_lets_it_be_judged(self, waiting):
        fail()
        assert is_judged_itself()
        assert Reward.objects.get(completion__model_id="A").error_code == "timeout"

    def test_one_that_is_cancelled(self, waiting):
        cancelling.cancel(run_of("A").pk)
        assert is_judged_itself()

    def test_one_that_is_erased_before_it_is_judged(self, waiting):
        erasing.erase([completion_of("A").pk], end_unfinished=True)
        assert is_judged_itself()

    def test_one_that_is_erased_after_it_was_judged(self, waiting):
        judge()
        erasing.erase([completion_of("A").pk], end_unfinished=True)
        assert is_judged_itself(value=0.5)

    def test_one_whose_score_is_deleted(self, waiting):
        judge()
        deleting.delete_score(Score.objects.get().pk)
        assert is_judged_itself()

    def test_one_that_is_purged(self, waiting):
        judge()
        source = completion_of("A").pk
        erasing.erase([source], end_unfinished=True)
        purging.purge([source], scored_before=timezone.now() + timedelta(days=1))
        assert not Completion.objects.filter(pk=source).exists()
        assert is_judged_itself()

    def test_one_that_another_version_of_the_grader_would_judge(self, waiting, live_task):
        judge()
        newer(live_task.version.members.get().grader)
        assert is_judged_itself(value=0.25)

    def test_one_whose_reasoning_is_damaged(self, waiting):
        judge(reasoning="Because.")
        with connection.cursor() as cursor:
            cursor.execute("update scores_score set reasoning = %s", [b"\x01" + bytes(60)])
        sweep.sweep(passes=1)
        assert [run.completion.model_id for run in due()] == ["B"]

    def test_it_is_then_a_source_for_others(self, trainer, waiting):
        fail()
        sweep.sweep(passes=1)
        trainer.ask("good", modelId="C")
        assert run_of("C").reuses == completion_of("B").pk
        judge()
        assert trainer.ask("good", modelId="C")[0]["value"] == 1.0

    def test_its_deadline_starts_when_it_is_due(self, waiting):
        WorkflowRun.objects.filter(pk=waiting.pk).update(deadline_at=timezone.now() - timedelta(hours=1))
        sweep.sweep()
        assert run_of("B").status == "waiting"
        fail()
        sweep.sweep(passes=1)
        run = run_of("B")
        assert (run.status, run.waits_for, run.reuses) == ("pending", "", None)
        assert run.deadline_at > timezone.now()
        sweep.sweep()
        assert run_of("B").status == "pending"

    def test_its_timeline_shows_both(self, trainer, waiting):
        fail()
        sweep.sweep(passes=1)
        judge()
        path = f"/workflow-runs/{public('run', waiting)}"
        steps = trainer.api.get(path).json()["workflowRun"]["steps"]
        assert [step["step"] for step in steps] == ["reuse", "queue", "call"]
        assert steps[0]["outcome"] == "not_reusable"


class TestSourcesOfPanels:
    @pytest.fixture
    def graders(self, key):
        return [GraderFactory(organization=key.organization) for _ in range(2)]

    @pytest.mark.parametrize("aggregation", ["mean", "min", "median", "confidence_weighted", "all_or_nothing"])
    def test_it_waits_for_the_whole_panel(self, trainer, key, graders, aggregation):
        task = TaskFactory(organization=key.organization, graders=graders, aggregation=aggregation)
        trainer.ask("good", task=task, modelId="A")
        trainer.ask("good", task=task, modelId="B")
        judge({"good": 0.5}, graders=graders[:1])
        sweep.sweep(passes=1)
        assert Reward.objects.count() == 0
        judge(graders=graders[1:])
        sweep.sweep(passes=1)
        first, second = Reward.objects.order_by("pk")
        assert (first.value, first.confidence) == (second.value, second.confidence)
        assert (second.aggregation, second.used, Score.objects.filter(reused_from=None).count()) == (aggregation, 2, 2)

    def test_if_one_grader_fails_the_whole_panel_judges_it(self, trainer, key, graders):
        task = TaskFactory(organization=key.organization, graders=graders)
        trainer.ask("good", task=task, modelId="A")
        trainer.ask("good", task=task, modelId="B")
        judge(graders=graders[:1])
        fail()
        sweep.sweep(passes=1)
        assert {run.grader_id for run in due()} == {grader.pk for grader in graders}

    def test_one_run_that_is_cancelled_leaves_the_other(self, trainer, key, graders):
        task = TaskFactory(organization=key.organization, graders=graders)
        trainer.ask("good", task=task, modelId="A")
        trainer.ask("good", task=task, modelId="B")
        cancelling.cancel(WorkflowRun.objects.filter(waits_for="reuse", grader=graders[0]).get().pk)
        judge()
        sweep.sweep(passes=1)
        reward = Reward.objects.get(completion__model_id="B")
        assert (reward.value, reward.used, reward.failed) == (1.0, 1, 1)

    def test_shadow_graders_judge_what_is_judged_itself(self, trainer, key, graders):
        task = TaskFactory(organization=key.organization, graders=[graders[0], (graders[1], 1.0, "shadow")])
        trainer.ask("good", task=task, modelId="A")
        trainer.ask("good", task=task, modelId="B")
        assert WorkflowRun.objects.filter(completion__model_id="B").count() == 1
        fail()
        sweep.sweep(passes=1)
        assert sorted(run.panel_size for run in due()) == [0, 1]

    def test_a_panel_that_is_scored_again_is_waited_for(self, trainer, key, graders):
        task = TaskFactory(organization=key.organization, graders=graders)
        trainer.ask("good", task=task, modelId="A")
        judge()
        rescoring.rescore(completion_of("A").pk, principal(key))
        judge({"good": 0.0}, graders=graders[:1])
        (pending,) = trainer.ask("good", task=task, modelId="B")
        assert pending["status"] == "pending"
        judge({"good": 0.0})
        assert trainer.ask("good", task=task, modelId="B")[0]["value"] == 0.0


class TestReviews:
    @pytest.fixture
    def reviewed(self, trainer, live_task):
        live_task.review_below_confidence = 0.5
        live_task.save()
        trainer.ask("good", modelId="A")
        trainer.ask("good", modelId="B")
        judge(confidence=0.1)
        sweep.sweep(passes=1)
        assert run_of("B").waits_for == "reuse"
        return Review.objects.get()

    def decide(self, review, **decision):
        return decisions.decide(review.pk, ReviewDecision(**decision), Reviewer(UserFactory(), administers=True))

    def test_it_copies_the_decision_of_the_reviewer(self, trainer, reviewed):
        self.decide(reviewed, approved=True, value=0.75)
        (reward,) = trainer.ask("good", modelId="B")
        assert reward["value"] == 0.75
        assert Score.objects.get(completion__model_id="B").reviewed_by_id is not None
        assert Review.objects.count() == 1

    def test_after_a_rejection_it_is_judged(self, reviewed):
        self.decide(reviewed, approved=False)
        sweep.sweep(passes=1)
        assert [run.completion.model_id for run in due()] == ["B"]

    def test_after_a_review_expired_it_is_judged(self, reviewed):
        Review.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        sweep.sweep()
        sweep.sweep(passes=1)
        assert [run.completion.model_id for run in due()] == ["B"]


class TestOneLeavesTheOther:
    def test_erasing_the_source_leaves_the_copy(self, trainer, key, copied):
        erasing.erase([completion_of("A").pk], end_unfinished=True)
        copied.refresh_from_db()
        assert (copied.value, copied.reused_from is None) == (1.0, False)
        assert trainer.ask("good", modelId="B")[0]["value"] == 1.0

    def test_erasing_the_copy_leaves_the_source(self, trainer):
        trainer.ask("good", modelId="A")
        judge(reasoning="Because.")
        trainer.ask("good", modelId="B")
        erasing.erase([completion_of("B").pk], end_unfinished=True)
        first, second = Score.objects.order_by("pk")
        assert (first.reasoning, second.reasoning) == ("Because.", None)
        assert trainer.ask("good", modelId="A")[0]["value"] == 1.0

    def test_a_copy_of_an_erased_source_is_no_source(self, trainer, copied):
        erasing.erase([completion_of("A").pk], end_unfinished=True)
        assert trainer.ask("good", modelId="C")[0]["status"] == "pending"
        assert [run.completion.model_id for run in due()] == ["C"]

    def test_scoring_the_source_again_leaves_the_copy(self, trainer, key, copied):
        rescoring.rescore(completion_of("A").pk, principal(key))
        judge({"good": 0.25})
        values = dict(Reward.objects.values_list("completion__model_id", "value"))
        assert values == {"A": 0.25, "B": 1.0}
        assert trainer.ask("good", modelId="C")[0]["value"] == 0.25

    def test_scoring_the_copy_again_is_a_judgement(self, trainer, key, copied):
        rescoring.rescore(completion_of("B").pk, principal(key))
        assert judge({"good": 0.25}) == 1
        values = dict(Reward.objects.values_list("completion__model_id", "value"))
        assert values == {"A": 1.0, "B": 0.25}
        newest = Score.objects.filter(completion__model_id="B").latest("pk")
        assert (newest.reused_from, newest.superseded) == (None, False)

    def test_a_waiting_record_cannot_be_scored_again_and_can_be_cancelled(self, trainer, waiting):
        answer = trainer.api.post(f"/completions/{public('comp', completion_of('B'))}/rescore", {})
        assert answer.status_code in (403, 409)
        cancelling.cancel(waiting.pk)
        assert Reward.objects.get().error_code == "cancelled"
        assert judge() == 1
        assert Reward.objects.get(completion__model_id="A").value == 1.0

    def test_one_that_was_cancelled_is_judged_when_it_is_retried(self, waiting):
        cancelling.cancel(waiting.pk)
        retrying.retry(waiting.pk)
        run = run_of("B")
        assert (run.status, run.waits_for) == ("pending", "")
        assert judge() == 2


class TestFreshness:
    def test_a_new_version_of_the_grader_makes_a_copy_stale_too(self, trainer, copied, live_task):
        newer(live_task.version.members.get().grader)
        assert trainer.ask("good", modelId="B")[0]["status"] == "pending"
        assert [run.completion.model_id for run in due()] == ["B"]
        assert trainer.ask("good", modelId="A")[0]["status"] == "pending"
        assert run_of("A").waits_for == "reuse"

    def test_a_failure_of_another_model_is_no_source_and_its_own_is_reused(self, trainer):
        trainer.ask("good", modelId="A")
        fail()
        assert trainer.ask("good", modelId="B")[0]["status"] == "pending"
        assert [run.completion.model_id for run in due()] == ["B"]
        assert trainer.ask("good", modelId="A")[0]["status"] == "failed"
        judge()
        assert trainer.ask("good", modelId="A")[0]["status"] == "failed"

    def test_after_a_minute_a_failed_record_copies_a_newer_judgement(self, trainer):
        trainer.ask("good", modelId="A")
        fail()
        trainer.ask("good", modelId="B")
        judge()
        Reward.objects.filter(completion__model_id="A").update(scored_at=timezone.now() - LONG_AGO)
        assert trainer.ask("good", modelId="A")[0]["value"] == 1.0
        assert due() == []

    def test_its_own_failure_takes_precedence_over_anothers_score(self, trainer, waiting):
        cancelling.cancel(waiting.pk)
        judge()
        assert trainer.ask("good", modelId="B")[0]["code"] == "cancelled"

    def test_the_newest_final_source_is_copied(self, trainer):
        trainer.ask("good", modelId="A", fresh=True)
        judge({"good": 0.25})
        trainer.ask("good", modelId="B", fresh=True)
        judge({"good": 0.75})
        trainer.ask("good", modelId="C", fresh=True)
        assert trainer.ask("good", modelId="D")[0]["value"] == 0.75


class TestWhoMayAsk:
    def test_an_archived_task_creates_no_record_and_returns_existing_ones(self, trainer, copied, live_task):
        live_task.archived = True
        live_task.save()
        assert trainer.refused("good", modelId="C").json()["code"] == "task_archived"
        assert trainer.ask("good", modelId="B")[0]["value"] == 1.0

    def test_a_task_with_an_inactive_grader_creates_no_record_either(self, trainer, copied, live_task):
        live_task.version.members.get().grader.__class__.objects.update(status="inactive")
        assert trainer.refused("good", modelId="C").json()["code"] == "grader_inactive"
        assert trainer.ask("good", modelId="B")[0]["value"] == 1.0


class TestTheSweep:
    def test_copies_are_ended_page_by_page(self, trainer, monkeypatch):
        monkeypatch.setattr(copies, "CHECK_LIMIT", 2)
        items = [f"good {number}" for number in range(5)]
        trainer.ask(*items, modelId="A")
        trainer.ask(*items, modelId="B")
        judge(most=1)
        judge()
        for _ in range(4):
            copies.sweep()
        assert Reward.objects.count() == 10

    def test_more_copies_of_one_source_than_a_page_all_end(self, trainer, monkeypatch):
        monkeypatch.setattr(copies, "CHECK_LIMIT", 2)
        trainer.ask("good", modelId="A")
        for number in range(5):
            trainer.ask("good", modelId=f"B{number}")
        judge()
        for _ in range(4):
            copies.sweep()
        assert Reward.objects.count() == 6

    def test_nothing_to_do_takes_one_query(self, db, django_assert_num_queries):
        copies.sweep()
        with django_assert_num_queries(1):
            assert copies.sweep() == []

    def test_many_copies_take_few_statements(self, trainer, django_assert_max_num_queries):
        items = [f"good {number}" for number in range(60)]
        trainer.ask(*items, modelId="A")
        trainer.ask(*items, modelId="B")
        judge()
        with django_assert_max_num_queries(25):
            assert len(copies.sweep()) == 60
        assert sum(Tally.objects.values_list("scored", flat=True)) == 60

    def test_the_sweep_leaves_copies_of_unfinished_sources(self, waiting):
        assert copies.sweep() == []
        assert copies.end({waiting.completion_id: waiting.reuses}) == []
        assert run_of("B").status == "waiting"
