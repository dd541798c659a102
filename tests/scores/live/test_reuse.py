"""Equal work is scored once, and again when the earlier result is no longer valid."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.principal import Principal
from scores.intake import rescoring
from scores.live import reuse
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from scores.retention import erasing
from tasks.models import Completion, TaskVersion
from tests.conftest import Api
from tests.factories import ApiKeyFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.scores.live.asking import reward_request
from tests.scores.submitting import rows

pytestmark = pytest.mark.django_db
LONG_AGO = reuse.FAILED_FOR + timedelta(seconds=1)


def ids_of(rewards):
    return [reward["completionId"] for reward in rewards]


def newer(grader):
    """The grader reports another version."""
    grader.version = grader.versions.create(label="2.0.0")
    grader.save(update_fields=["version"])


def failed(reward, *, ago=timedelta(0), code="timeout", **changes):
    """The reward of a completion that failed so long ago."""
    completion = next(
        candidate for candidate in Completion.objects.all() if public("comp", candidate) == reward["completionId"]
    )
    about = {"organization": completion.organization, "task": completion.task, "aggregation": "mean"}
    end = {"value": None, "confidence": None, "used": 0, "failed": 1, "error_code": code, **changes}
    return Reward.objects.create(completion=completion, **about, **end, scored_at=timezone.now() - ago)


class TestWhatIsEqual:
    def test_equal_items_of_one_request_have_one_completion(self, trainer):
        first, other, again = trainer.ask("4", "5", "4")
        assert first == again
        assert first["completionId"] != other["completionId"]
        assert rows() == (2, 2)

    def test_an_existing_score_is_returned_without_new_work(self, trainer, score):
        score(trainer.ask("4")[0], 0.25)
        (reward,) = trainer.ask("4")
        assert (reward["value"], reward["status"], rows()) == (0.25, "completed", (1, 1))

    def test_what_is_unfinished_is_joined(self, trainer):
        assert ids_of(trainer.ask("4", "5")) == ids_of(trainer.ask("4", "5"))
        assert rows() == (2, 2)

    def test_another_model_has_its_own_record_that_no_grader_judges(self, trainer):
        first, second = trainer.ask("4", modelId="step-100"), trainer.ask("4", modelId="step-200")
        assert ids_of(first) != ids_of(second)
        assert [run.status for run in WorkflowRun.objects.order_by("pk")] == ["pending", "waiting"]

    @pytest.mark.parametrize(
        "other",
        [
            {"prompt": "What is 2 + 3?", "response": "4"},
            {"prompt": "What is 2 + 2?4", "response": ""},
            {"prompt": "What is 2 + 2?", "response": "4 "},
            {"prompt": "What is 2 + 2?", "response": "4", "metadata": {"label": "5"}},
            {"messages": [{"role": "user", "content": "What is 2 + 2?"}], "response": "4"},
        ],
    )
    def test_everything_that_a_grader_sees_makes_a_difference(self, trainer, other):
        assert len(set(ids_of(trainer.ask("4", other)))) == 2

    def test_the_order_of_members_makes_no_difference(self, trainer):
        first, second = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
        shared = {"prompt": "p", "response": "r"}
        assert len(set(ids_of(trainer.ask({**shared, "metadata": first}, {**shared, "metadata": second})))) == 1

    def test_no_metadata_and_empty_metadata_are_the_same(self, trainer):
        bare = {"prompt": "p", "response": "r"}
        assert len(set(ids_of(trainer.ask(bare, {**bare, "metadata": {}}, {**bare, "metadata": None})))) == 1

    def test_another_task_scores_separately(self, trainer, key):
        other = TaskFactory(organization=key.organization)
        assert ids_of(trainer.ask("4")) != ids_of(trainer.ask("4", task=other))

    def test_another_version_of_the_task_scores_again(self, trainer, live_task, score):
        score(trainer.ask("4")[0])
        version = live_task.version
        newer = TaskVersion.objects.create(
            task=live_task, organization=live_task.organization, digest="f" * 64, content={"promptTemplate": "{{q}}"}
        )
        newer.members.create(grader=version.members.get().grader, position=0)
        live_task.version = newer
        live_task.save(update_fields=["version"])
        assert trainer.ask("4")[0]["status"] == "pending"

    def test_another_organization_never_reuses_it(self, trainer, live_task, score):
        score(trainer.ask("4")[0])
        theirs = ApiKeyFactory(role="training_operator")
        task = TaskFactory(organization=theirs.organization)
        answer = Api(theirs.text).post("/rewards", reward_request(task, "4"))
        assert answer.json()["rewards"][0]["status"] == "pending"

    def test_a_completion_submitted_by_another_call_is_never_reused(self, trainer, live_task):
        ScoreFactory(run__completion__task=live_task, run__completion__response="4")
        assert trainer.ask("4")[0]["status"] == "pending"


class TestFresh:
    def test_each_item_is_scored_again(self, trainer, score):
        score(trainer.ask("4")[0])
        first, again = trainer.ask("4", "4", fresh=True)
        assert (first["status"], again["status"]) == ("pending", "pending")
        assert first["completionId"] != again["completionId"]
        assert rows() == (3, 3)

    def test_later_requests_reuse_the_newest(self, trainer, score):
        score(trainer.ask("4")[0], 0.25)
        score(trainer.ask("4", fresh=True)[0], 0.75)
        assert trainer.ask("4")[0]["value"] == 0.75
        assert LiveAnswer.objects.count() == 1


class TestGraderVersions:
    def test_another_version_of_the_grader_scores_again(self, trainer, live_task, score):
        score(trainer.ask("4")[0], 0.25)
        newer(live_task.version.members.get().grader)
        (reward,) = trainer.ask("4")
        assert (reward["status"], rows()) == ("pending", (2, 2))
        score(reward, 0.75)
        assert trainer.ask("4")[0]["value"] == 0.75

    def test_one_of_a_panel_is_enough(self, trainer, key):
        graders = [GraderFactory(organization=key.organization) for _ in range(2)]
        task = TaskFactory(organization=key.organization, graders=graders)
        (pending,) = trainer.ask("4", task=task)
        completion = Completion.objects.get()
        for run in completion.runs.all():
            ScoreFactory(run=run, reward=run.grader == graders[0])
        assert trainer.ask("4", task=task)[0]["completionId"] == pending["completionId"]
        newer(graders[1])
        assert trainer.ask("4", task=task)[0]["completionId"] != pending["completionId"]

    def test_that_of_a_shadow_grader_does_not_matter(self, trainer, key):
        scoring, shadow = (GraderFactory(organization=key.organization) for _ in range(2))
        task = TaskFactory(organization=key.organization, graders=[scoring, (shadow, 1.0, "shadow")])
        (pending,) = trainer.ask("4", task=task)
        for run in Completion.objects.get().runs.all():
            ScoreFactory(run=run, purpose="shadow" if run.grader == shadow else "score", reward=run.grader == scoring)
        newer(shadow)
        assert trainer.ask("4", task=task)[0]["completionId"] == pending["completionId"]

    def test_the_newest_score_counts_after_a_rescore(self, trainer, live_task, score):
        (pending,) = trainer.ask("4")
        old = score(pending)
        newer(live_task.version.members.get().grader)
        Score.objects.filter(pk=old.pk).update(superseded=True)
        again = RunFactory(completion=old.completion, status="completed", generation=1)
        ScoreFactory(run=again, reward=False)
        assert trainer.ask("4")[0]["completionId"] == pending["completionId"]


class TestFailures:
    def test_a_failure_is_returned_for_a_minute(self, trainer):
        (pending,) = trainer.ask("4")
        failed(pending)
        (reward,) = trainer.ask("4")
        assert reward == {**pending, "status": "failed", "code": "timeout", "waitingFor": None}
        assert rows() == (1, 1)

    def test_after_a_minute_it_is_scored_again(self, trainer):
        failed(trainer.ask("4")[0], ago=LONG_AGO)
        assert (trainer.ask("4")[0]["status"], rows()) == ("pending", (2, 2))

    def test_a_partial_failure_of_the_panel_is_scored_again_too(self, trainer):
        partly = {"value": 0.5, "confidence": 1.0, "used": 1, "error_code": ""}
        row = failed(trainer.ask("4")[0], **partly)
        assert trainer.ask("4")[0]["value"] == 0.5
        Reward.objects.filter(pk=row.pk).update(scored_at=timezone.now() - LONG_AGO)
        assert trainer.ask("4")[0]["status"] == "pending"

    def test_one_that_is_scored_again_by_hand_is_joined(self, trainer, key):
        (pending,) = trainer.ask("4")
        row = failed(pending, ago=LONG_AGO)
        row.completion.runs.update(status="failed", error_code="timeout")
        rescoring.rescore(row.completion_id, Principal(key.organization, key.role, key.user, key))
        assert trainer.ask("4") == [pending]


class TestErasing:
    def test_an_erased_completion_is_never_reused(self, trainer, score):
        (pending,) = trainer.ask("4")
        scored = score(pending)
        erasing.erase([scored.completion_id], end_unfinished=True)
        assert LiveAnswer.objects.count() == 0
        (reward,) = trainer.ask("4")
        assert (reward["status"], reward["completionId"] == pending["completionId"]) == ("pending", False)

    def test_a_completion_erased_during_scoring_fails(self, trainer):
        trainer.ask("4")
        erasing.erase([Completion.objects.get().pk], end_unfinished=True)
        reward = Reward.objects.get()
        assert (reward.value, reward.error_code) == (None, "erased")

    def test_its_row_contains_neither_text_nor_metadata(self, trainer):
        trainer.ask({"prompt": "a secret", "response": "another", "metadata": {"label": "third"}})
        row = LiveAnswer.objects.get()
        assert len(bytes(row.answer_digest)) == 32


def test_unchanged_rewards_take_few_queries(trainer, django_assert_max_num_queries, score):
    for reward in trainer.ask(*map(str, range(20))):
        score(reward)
    with django_assert_max_num_queries(25):
        trainer.ask(*map(str, range(20)))
