"""Each model has a record of each of its answers, though graders judge equal ones once: figures count each record."""

import json

import pytest

from autotune.webhooks.models import Event
from graders.models import Tally
from scores.engine import sweep
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from tasks.models import Completion
from tests.factories import GraderFactory, RewardEndpointFactory, TaskFactory, public
from tests.scores.live.asking import reward_request
from tests.scores.live.endpoints.conftest import call, whole  # noqa: F401 - a fixture
from tests.scores.live.judging import due, judge
from tests.scores.reviewing import subscribe

pytestmark = pytest.mark.django_db


def by_model(api, task):
    summary = api.get(f"/scores/summary?taskId={public('task', task)}").json()
    return {row["modelId"]: row for row in summary["byModel"]}


def exported(api, task, **members):
    query = "&".join(f"{name}={value}" for name, value in {"layout": "records", "format": "jsonl", **members}.items())
    answer = api.get(f"/scores/export?taskId={public('task', task)}&{query}")
    return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]


@pytest.fixture
def second_answers(trainer, live_task):
    """C10: graders judge model A's answers, then model B sends equal ones and one more."""
    trainer.ask("good", "bad", modelId="A")
    assert judge() == 2
    answers = trainer.ask("good", "bad", "good x", modelId="B")
    assert [run.completion.response for run in due()] == ["good x"]
    return answers


class TestFigures:
    def test_c10_the_second_model_has_a_record_of_each_answer_in_the_summary(self, trainer, live_task, second_answers):
        assert [reward["value"] for reward in second_answers] == [1.0, 0.0, None]
        assert judge() == 1
        models = by_model(trainer.api, live_task)
        assert (models["B"]["totalRecords"], models["B"]["unscored"]) == (3, 0)
        assert models["B"]["mean"] == pytest.approx(2 / 3)
        assert (models["A"]["totalRecords"], models["A"]["mean"]) == (2, 0.5)

    def test_c10_the_export_has_each_record_of_the_second_model(self, trainer, live_task, second_answers):
        judge()
        records = [row for row in exported(trainer.api, live_task) if row["metadata"]["model_id"] == "B"]
        assert sorted((row["response"], row["score"]) for row in records) == [
            ("bad", 0.0),
            ("good", 1.0),
            ("good x", 1.0),
        ]
        assert len(exported(trainer.api, live_task, per="grader", modelId="B")) == 3

    def test_c10_pages_show_the_second_model_and_its_copies(self, visitor, key, live_task, second_answers):
        judge()
        page = visitor("organization_admin", organization=key.organization)
        text = page.get(f"/tasks/{public('task', live_task)}").content.decode()
        assert "0.667" in text
        copied = Score.objects.exclude(reused_from=None).first()
        for address in ("/scores", f"/completions/{public('comp', copied.completion)}", f"/scores/{copied.public_id}"):
            assert "eused" in page.get(address).content.decode(), address

    def test_an_equal_answer_in_a_conversation_with_metadata_is_reused_too(self, trainer):
        item = {
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": []}],
            "response": "good", "metadata": {"label": {"b": 1, "a": 2}},
        }  # fmt: skip
        item["messages"].append({"role": "user", "content": "And?"})
        trainer.ask(item, modelId="A")
        judge()
        (reward,) = trainer.ask({**item, "metadata": {"label": {"a": 2, "b": 1}}}, modelId="B")
        assert (reward["value"], due()) == (1.0, [])

    def test_equal_items_of_one_request_are_one_record_of_their_model(self, trainer, live_task):
        trainer.ask("good", "good", modelId="A")
        judge()
        first, again = trainer.ask("good", "good", modelId="B")
        assert first == again
        assert Completion.objects.filter(model_id="B").count() == 1

    def test_without_a_model_records_belong_to_the_model_live(self, trainer, live_task):
        trainer.ask("good")
        judge()
        trainer.ask("good", modelId="B")
        trainer.ask("good")
        assert {name: model["totalRecords"] for name, model in by_model(trainer.api, live_task).items()} == {
            "B": 1,
            "live": 1,
        }

    def test_every_later_model_copies_the_score_that_was_judged(self, trainer, live_task):
        trainer.ask("good", modelId="A")
        judge()
        for number in range(6):
            trainer.ask("good", modelId=f"B{number}")
        assert LiveAnswer.objects.filter(replaces=None).count() == 6
        assert Score.objects.exclude(reused_from=None).values_list("reused_from", flat=True).distinct().count() == 1


class TestTheRecord:
    def test_it_names_the_score_that_was_reused(self, trainer, second_answers):
        original = Score.objects.get(completion__model_id="A", value=1.0)
        body = trainer.api.get(f"/completions/{second_answers[0]['completionId']}/score").json()
        assert body["score"]["reusedFrom"] == public("score", original)
        assert body["score"]["id"] != public("score", original)
        assert trainer.api.get(f"/scores/{public('score', original)}").json()["score"]["reusedFrom"] is None

    def test_it_has_everything_that_the_grader_returned(self, trainer):
        trainer.ask("good", modelId="A")
        judge(reasoning="Because ü.", confidence=0.25, raw_value=7.5, details={"samples": [1, 0.5]})
        trainer.ask("good", modelId="B")
        original, copy = Score.objects.order_by("pk")
        score_fields = (
            "value",
            "confidence",
            "raw_value",
            "reasoning",
            "details",
            "dimensions",
            "grader_id",
            "grader_version_id",
            "purpose",
        )
        assert [getattr(copy, name) for name in score_fields] == [getattr(original, name) for name in score_fields]
        for name in ("reasoning", "details"):
            first_text, second_text = Score.objects.order_by("pk").values_list(name, flat=True)
            assert bytes(first_text) != bytes(second_text)
        first, second = Reward.objects.order_by("pk")
        reward_fields = ("value", "confidence", "aggregation", "used", "failed", "error_code")
        assert [getattr(second, name) for name in reward_fields] == [getattr(first, name) for name in reward_fields]

    def test_its_timeline_shows_the_reuse_and_no_call(self, trainer, second_answers):
        completion_id = second_answers[0]["completionId"]
        api = trainer.api
        (run,) = api.get(f"/workflow-runs?completionId={completion_id}").json()["workflowRuns"]
        assert [(step["step"], step["outcome"]) for step in run["steps"]] == [("reuse", "copied")]
        assert (run["status"], run["attempt"], run["startedAt"]) == ("completed", 0, None)

    def test_the_source_of_a_copy_is_never_a_copy(self, trainer):
        for model in ("A", "B", "C"):
            trainer.ask("good", modelId=model)
            judge()
        originals = set(Score.objects.exclude(reused_from=None).values_list("reused_from", flat=True))
        assert originals == {Score.objects.get(completion__model_id="A").pk}

    def test_a_webhook_gets_an_event_of_each_record(self, trainer, key):
        subscribe(key.organization, "score.completed")
        trainer.ask("good", modelId="A")
        judge()
        trainer.ask("good", modelId="B")
        subject_ids = list(Event.objects.order_by("pk").values_list("subject_id", flat=True))
        assert subject_ids == list(Completion.objects.order_by("pk").values_list("pk", flat=True))

    def test_the_graders_figures_exclude_it(self, trainer, second_answers):
        judge()
        assert sum(Tally.objects.values_list("scored", flat=True)) == 3
        assert Score.objects.count() == 5

    def test_another_organization_never_reuses_it(self, trainer, second_answers, api_for):
        other = api_for(role="training_operator")
        task = TaskFactory(organization=other.organization)
        (reward,) = other.post("/rewards", reward_request(task, "good", modelId="B")).json()["rewards"]
        assert (reward["status"], Score.objects.filter(task=task).count()) == ("pending", 0)


class TestWaitingForTheSource:
    def test_it_waits_and_ends_in_the_sweep(self, trainer):
        trainer.ask("good", modelId="A")
        (reward,) = trainer.ask("good", modelId="B")
        assert reward["status"] == "pending"
        run = WorkflowRun.objects.get(completion__model_id="B")
        assert (run.status, run.waits_for, run.wake_at) == ("waiting", "reuse", None)
        (waiting_run,) = trainer.api.get(f"/workflow-runs?completionId={reward['completionId']}").json()["workflowRuns"]
        assert (waiting_run["currentStep"], [step["step"] for step in waiting_run["steps"]]) == ("reuse", ["reuse"])
        sweep.sweep(passes=1)
        assert WorkflowRun.objects.get(pk=run.pk).status == "waiting"
        judge()
        sweep.sweep(passes=1)
        assert trainer.ask("good", modelId="B")[0]["value"] == 1.0
        assert WorkflowRun.objects.get(pk=run.pk).reuses is None

    def test_a_repeated_request_joins_it_and_ends_it_in_the_call(self, trainer):
        trainer.ask("good", modelId="A")
        (pending,) = trainer.ask("good", modelId="B")
        judge()
        (reward,) = trainer.ask("good", modelId="B")
        assert (reward["completionId"], reward["value"]) == (pending["completionId"], 1.0)

    def test_a_third_model_waits_for_the_same_source(self, trainer):
        for model in ("A", "B", "C"):
            trainer.ask("good", modelId=model)
        source = Completion.objects.get(model_id="A").pk
        waiting = WorkflowRun.objects.filter(waits_for="reuse")
        assert list(waiting.values_list("reuses", flat=True)) == [source, source]
        assert judge() == 1
        assert [trainer.ask("good", modelId=model)[0]["value"] for model in "BC"] == [1.0, 1.0]


class TestRewardEndpoints:
    def endpoint(self, key, live_task, protocol, model, **members):
        fields = {"created_by": key.user, "protocol": protocol, "model_id": model, "deadline_ms": 1, **members}
        return RewardEndpointFactory(task=live_task, **fields)

    def test_c10_openrlhf(self, trainer, key, live_task, call):  # noqa: F811
        first, second = (self.endpoint(key, live_task, "openrlhf", model) for model in "AB")
        call(first, whole("good", "bad", prompt=""))
        assert judge({"good": 1.0}) == 2
        assert call(second, whole("good", "bad", prompt="")).json["rewards"] == [1.0, 0.0]
        assert due() == []
        models = by_model(trainer.api, live_task)
        assert [(models[name]["totalRecords"], models[name]["mean"]) for name in "AB"] == [(2, 0.5), (2, 0.5)]

    def test_c10_slime(self, trainer, key, live_task, call):  # noqa: F811
        first, second = (self.endpoint(key, live_task, "slime", model) for model in "AB")
        sample = {"prompt": "2+2?", "response": "good", "label": "4"}
        call(first, sample)
        judge()
        assert call(second, sample).json == 1.0
        assert Score.objects.get(completion__model_id="B").reused_from is not None

    def test_c10_verify(self, trainer, key, live_task, call):  # noqa: F811
        first, second = (self.endpoint(key, live_task, "verify", model) for model in "AB")
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "good"}]}
        rollout = {"responses_create_params": {"input": "2+2?"}, "response": {"output": [message]}}
        call(first, rollout)
        judge()
        answer = call(second, rollout)
        assert (answer.status, answer.json["reward"], due()) == (200, 1.0, [])

    def test_an_endpoint_and_a_direct_call_share_one_judgement(self, trainer, key, live_task, call):  # noqa: F811
        endpoint = self.endpoint(key, live_task, "openrlhf", "B")
        trainer.ask({"prompt": "Q:", "response": "good"}, modelId="A")
        judge()
        assert call(endpoint, whole("good")).json["rewards"] == [1.0]
        assert (due(), Completion.objects.count()) == ([], 2)

    def test_the_endpoints_policy_applies_to_an_item_that_waits(self, trainer, key, live_task, call):  # noqa: F811
        endpoint = self.endpoint(key, live_task, "openrlhf", "B", unscored="hold", neutral_value=None)
        trainer.ask({"prompt": "Q:", "response": "good"}, modelId="A")
        assert call(endpoint, whole("good")).status == 503
        judge()
        assert call(endpoint, whole("good")).json["rewards"] == [1.0]


class TestFresh:
    def test_c19_each_of_four_equal_items_is_judged(self, trainer):
        rewards = trainer.ask("good", "good", "good", "good", fresh=True)
        assert len({reward["completionId"] for reward in rewards}) == 4
        assert judge() == 4
        assert Score.objects.filter(reused_from=None).count() == 4

    def test_c19_each_is_judged_in_a_second_request_and_among_others_too(self, trainer):
        trainer.ask("good", "bad", "good", fresh=True)
        trainer.ask("good", fresh=True, modelId="B")
        assert (judge(), Completion.objects.count()) == (4, 4)

    def test_c19_the_noise_of_a_grader_can_be_measured(self, trainer, live_task):
        trainer.ask(*["good"] * 4, fresh=True)
        for number in range(4):
            judge({"good": number / 3}, most=1)
        model = by_model(trainer.api, live_task)["live"]
        assert (model["totalRecords"], model["mean"]) == (4, 0.5)
        assert model["std"] == pytest.approx(((0.25 + 1 / 36) / 2) ** 0.5)

    def test_later_requests_reuse_the_last_of_them(self, trainer):
        *_, last = trainer.ask("good", "good", fresh=True)
        assert trainer.ask("good")[0]["completionId"] == last["completionId"]
        assert LiveAnswer.objects.count() == 1

    def test_another_model_may_copy_one(self, trainer):
        *_, last = trainer.ask("good", "good", fresh=True)
        judge()
        assert trainer.ask("good", modelId="B")[0]["value"] == 1.0
        source = Score.objects.get(completion__model_id="B").reused_from
        assert public("comp", Score.objects.get(pk=source).completion) == last["completionId"]
        assert due() == []

    def test_a_waiting_copy_keeps_its_source_when_that_is_replaced(self, trainer):
        trainer.ask("good", modelId="A")
        trainer.ask("good", modelId="B")
        trainer.ask("good", modelId="A", fresh=True)
        source = WorkflowRun.objects.get(waits_for="reuse").reuses
        assert source == Completion.objects.filter(model_id="A").earliest("pk").pk


def test_a_panels_reward_is_copied_with_its_scores(trainer, key):
    graders = [GraderFactory(organization=key.organization) for _ in range(3)]
    panel = [(graders[0], 0.2, "scoring"), (graders[1], 0.8, "scoring"), (graders[2], 1.0, "shadow")]
    task = TaskFactory(organization=key.organization, graders=panel)
    trainer.ask("x", task=task, modelId="A")
    judge({"x": 0.25}, graders=graders[:1])
    judge({"x": 1.0}, graders=graders[1:])
    (reward,) = trainer.ask("x", task=task, modelId="B")
    assert reward["value"] == pytest.approx(0.2 * 0.25 + 0.8)
    copied = Score.objects.filter(completion__model_id="B")
    assert {score.grader_id: score.value for score in copied} == {graders[0].pk: 0.25, graders[1].pk: 1.0}
    assert WorkflowRun.objects.filter(completion__model_id="B", panel_size=0).count() == 0
    assert Reward.objects.get(completion__model_id="B").used == 2
