"""POST /rewards: the shape, the order, the deadline, and what is refused."""

import json
import time

import pytest

from autotune.access.models import AuditEvent
from scores.models import WorkflowRun
from tasks.models import Completion
from tests.conftest import Api
from tests.factories import ApiKeyFactory, GraderFactory, OrganizationFactory, TaskFactory, public
from tests.scores.live.asking import reward_request
from tests.scores.submitting import OTHER_TASK, problems, rows

pytestmark = pytest.mark.django_db


class TestTheAnswer:
    def test_rewards_come_in_the_order_of_the_items(self, trainer, grader, task, key, drain, fake):
        fake.judge = lambda completion: float(completion["response"]) / 100
        mine = ApiKeyFactory(role="training_operator", organization=grader.organization)
        api, responses = Api(mine.text), ["7", "3", "99", "3", "50"]
        api.post("/rewards", reward_request(task, *responses))
        drain(grader)
        rewards = api.post("/rewards", reward_request(task, *responses)).json()["rewards"]
        assert [reward["value"] for reward in rewards] == [0.07, 0.03, 0.99, 0.03, 0.5]
        assert {reward["status"] for reward in rewards} == {"completed"}
        assert {reward["confidence"] for reward in rewards} == {0.9}
        assert len(fake.items) == 4

    def test_each_has_six_members_in_every_status(self, trainer):
        (reward,) = trainer.ask("4")
        completion = Completion.objects.get()
        assert reward.pop("waitingFor")["reason"] == "queued"
        assert reward == {
            "value": None, "confidence": None, "completionId": public("comp", completion), "status": "pending",
            "code": None,
        }  # fmt: skip

    def test_a_failure_has_a_code_and_never_a_number(self, grader, task, drain, fake):
        fake.judge = lambda completion: "cannot_judge" if completion["response"] == "bad" else 1
        api = Api(ApiKeyFactory(role="training_operator", organization=grader.organization).text)
        task.max_attempts = 1
        task.save(update_fields=["max_attempts"])
        api.post("/rewards", reward_request(task, "good", "bad"))
        drain(grader)
        good, bad = api.post("/rewards", reward_request(task, "good", "bad")).json()["rewards"]
        assert (good["value"], good["status"], good["code"]) == (1.0, "completed", None)
        assert (bad["value"], bad["confidence"], bad["status"]) == (None, None, "failed")
        assert bad["code"]

    def test_it_stores_completions_like_a_submission(self, trainer, key, live_task):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        trainer.ask({"messages": messages, "response": "Hello", "metadata": {"step": 1}}, modelId="policy-7")
        completion = Completion.objects.get()
        assert (completion.prompt, completion.messages, completion.response) == ("Hi", messages, "Hello")
        assert (completion.metadata, completion.model_id, completion.created_by) == ({"step": 1}, "policy-7", key.user)
        assert (completion.task_version, completion.priority) == (live_task.version, 2)

    def test_without_a_model_the_model_is_live(self, trainer):
        trainer.ask("4")
        assert Completion.objects.get().model_id == "live"

    def test_the_graders_are_woken_once(self, trainer, live_task, woken):
        rewards, sent = woken(lambda: trainer.ask("4", "5", "6"))
        assert sent == [live_task.version.members.get().grader_id]
        assert woken(lambda: trainer.ask("4", "5", "6")) == (rewards, [])

    def test_an_empty_response_is_an_item(self, trainer):
        assert trainer.ask("")[0]["status"] == "pending"

    def test_any_text_survives(self, trainer):
        text = "\U0010ffff\u202e\x01 \ufeffé" * 10
        trainer.ask({"prompt": text, "response": text})
        assert Completion.objects.get().response == text


class TestTheDeadline:
    def test_with_too_many_waiters_the_current_state_is_returned_at_once(self, trainer, settings):
        settings.LONG_POLL_MAX_WAITERS = 0
        begun = time.monotonic()
        assert trainer.ask("4", deadlineMs=300_000)[0]["status"] == "pending"
        assert time.monotonic() - begun < 5

    def test_it_is_kept(self, trainer):
        begun = time.monotonic()
        assert trainer.ask("4", deadlineMs=300)[0]["status"] == "pending"
        assert 0.3 <= time.monotonic() - begun < 5

    @pytest.mark.parametrize(
        ("deadline", "code"),
        [(-1, "out_of_range"), (300_001, "out_of_range"), ("30000", "wrong_type"), (True, "wrong_type"),
         (0.5, "wrong_type")],
    )  # fmt: skip
    def test_one_that_is_none_is_refused(self, trainer, deadline, code):
        assert problems(trainer.refused("4", deadlineMs=deadline)) == [("/deadlineMs", code)]


class TestRefusals:
    def test_every_bad_item_has_a_pointer_and_nothing_is_stored(self, trainer):
        long = "x" * (1024 * 1024 + 1)
        bad = [
            {"prompt": "p"},
            {"prompt": "p", "response": 1},
            {"response": "r"},
            {"prompt": "p", "messages": [], "response": "r"},
            {"prompt": "p", "response": "r", "modelId": "m"},
            {"prompt": "p", "response": long},
            {"messages": [{"role": "assistant", "content": "a"}], "response": "r"},
            {"prompt": "p", "response": "r", "metadata": {"n": 2**60}},
            ["no object"],
            None,
        ]
        assert problems(trainer.refused("good", *bad)) == [
            ("/items/1/response", "missing_field"),
            ("/items/2/response", "wrong_type"),
            ("/items/3", "one_of"),
            ("/items/4", "one_of"),
            ("/items/5/modelId", "unknown_field"),
            ("/items/6/response", "too_long"),
            ("/items/7/messages", "no_user_message"),
            ("/items/8/metadata/n", "integer_out_of_range"),
            ("/items/9", "wrong_type"),
            ("/items/10", "wrong_type"),
        ]
        assert rows() == (0, 0)

    @pytest.mark.parametrize(
        ("raw", "pointer", "code"),
        [
            (b'{"prompt": "p", "response": "a\\u0000b"}', "/items/0/response", "invalid_text"),
            (b'{"prompt": "p", "response": "\\ud800"}', "/items/0/response", "invalid_text"),
            (b'{"prompt": "p", "prompt": "q", "response": "r"}', "/items/0/prompt", "duplicate_key"),
            (b'{"prompt": "p", "response": "r", "metadata": {"a": NaN}}', "/items/0/metadata/a", "invalid_json"),
        ],
    )
    def test_json_is_read_strictly(self, trainer, live_task, raw, pointer, code):
        body = b'{"taskId": "%b", "items": [%b]}' % (public("task", live_task).encode(), raw)
        assert problems(trainer.api.post("/rewards", raw=body)) == [(pointer, code)]

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"items": []}, [("/items", "invalid_length")]),
            ({"items": [{"prompt": "p", "response": "r"}] * 1001}, [("/items", "invalid_length")]),
            ({"items": {}}, [("/items", "wrong_type")]),
            ({"items": None}, [("/items", "wrong_type")]),
            ({"taskId": "nonsense"}, [("/taskId", "malformed_id")]),
            ({"taskId": None}, [("/taskId", "malformed_id")]),
            ({"modelId": ""}, [("/modelId", "invalid_length")]),
            ({"modelId": "  "}, [("/modelId", "invalid_format")]),
            ({"fresh": "yes"}, [("/fresh", "wrong_type")]),
            ({"deadline": 1}, [("/deadline", "unknown_field")]),
        ],
    )
    def test_of_the_body(self, trainer, changes, expected):
        assert problems(trainer.refused("4", **changes)) == expected

    @pytest.mark.parametrize("body", [[], "text", 1, None, {}])
    def test_no_such_body(self, trainer, body):
        assert trainer.api.post("/rewards", raw=json.dumps(body).encode()).status_code == 400
        assert rows() == (0, 0)

    def test_of_a_task_that_is_not_there_or_not_theirs(self, trainer):
        foreign = public("task", TaskFactory())
        for task_id in (OTHER_TASK, foreign):
            assert problems(trainer.refused("4", taskId=task_id), 404) == [("/taskId", "not_found")]

    def test_of_an_archived_task(self, trainer, live_task, score):
        score(trainer.ask("known")[0])
        live_task.archived = True
        live_task.save(update_fields=["archived"])
        assert problems(trainer.refused("known", "new"), 409) == [("/taskId", "task_archived")]
        assert trainer.ask("known")[0]["status"] == "completed"
        assert rows() == (1, 1)

    def test_of_a_task_whose_grader_is_switched_off(self, trainer, live_task, score):
        score(trainer.ask("known")[0])
        grader = live_task.version.members.get().grader
        grader.status = "inactive"
        grader.save(update_fields=["status"])
        answer = trainer.refused("known", "new")
        assert (problems(answer, 409), answer.json()["code"]) == ([("/taskId", "grader_inactive")], "grader_inactive")
        assert trainer.ask("known")[0]["status"] == "completed"


class TestAccess:
    @pytest.mark.parametrize(
        ("role", "status"), [("grader_owner", 403), ("reviewer", 403), ("organization_admin", 200)]
    )
    def test_the_role_decides(self, live_task, role, status):
        api = Api(ApiKeyFactory(role=role, organization=live_task.organization).text)
        assert api.post("/rewards", reward_request(live_task, "4")).status_code == status

    def test_without_a_key_nothing_is_scored(self, live_task):
        assert Api().post("/rewards", reward_request(live_task, "4")).status_code == 401
        assert rows() == (0, 0)

    def test_the_operating_organization_scores_for_others_under_their_name(self, live_task):
        api = Api(ApiKeyFactory(role="admin", organization=OrganizationFactory(operating=True)).text)
        assert api.post("/rewards", reward_request(live_task, "4")).status_code == 200
        assert Completion.objects.get().organization == live_task.organization

    def test_a_test_key_uses_only_graders_of_its_own_organization(self, key, live_task):
        elsewhere = TaskFactory(organization=key.organization, graders=[GraderFactory(visibility="listed")])
        api = Api(ApiKeyFactory(role="training_operator", organization=key.organization, kind="test").text)
        assert problems(api.post("/rewards", reward_request(elsewhere, "4")), 403) == [("/taskId", "forbidden")]
        assert api.post("/rewards", reward_request(live_task, "4")).status_code == 200


class TestTheTrail:
    def test_a_call_is_one_event_with_the_task_and_without_text(self, trainer, key, live_task):
        trainer.ask({"prompt": "a secret", "response": "another"}, "5")
        (event,) = AuditEvent.objects.filter(resource="rewards")
        assert (event.action, event.status, event.outcome, event.user) == ("rewards.create", 200, "succeeded", key.user)
        assert (event.object_id, event.objects_count) == (public("task", live_task), 2)
        assert event.fields == ["taskId", "items", "deadlineMs"]

    def test_a_refusal_is_one_event_too(self, trainer):
        trainer.refused()
        (event,) = AuditEvent.objects.filter(resource="rewards")
        assert (event.status, event.code, event.outcome) == (400, "invalid_request", "refused")


class TestRepeating:
    def test_an_idempotency_key_repeats_the_first_response(self, trainer, score, live_task):
        first = trainer.api.post("/rewards", reward_request(live_task, "4", fresh=True), idempotency_key="k")
        score(first.json()["rewards"][0])
        again = trainer.api.post("/rewards", reward_request(live_task, "4", fresh=True), idempotency_key="k")
        assert (again.json(), again["Idempotency-Replayed"]) == (first.json(), "true")
        assert rows() == (1, 1)
        other = trainer.api.post("/rewards", reward_request(live_task, "5"), idempotency_key="k")
        assert other.status_code == 422

    def test_a_run_is_made_for_each_grader_of_the_panel(self, trainer, key):
        graders = [GraderFactory(organization=key.organization) for _ in range(3)]
        task = TaskFactory(organization=key.organization, graders=[*graders[:2], (graders[2], 1.0, "shadow")])
        trainer.ask("4", task=task)
        trainer.ask("4", task=task)
        assert sorted(WorkflowRun.objects.values_list("panel_size", flat=True)) == [0, 2, 2]
