"""Calls of trainers, answered by the web process: by policy, once for equal work, and logged."""

import logging
import math

import pytest

from autotune.access.models import AuditEvent
from scores.live import counting
from scores.models import Review, Reward, WorkflowRun
from tasks.models import Completion
from tests.factories import GraderFactory, RewardEndpointFactory, ScoreFactory, TaskFactory
from tests.scores.live.endpoints.conftest import whole
from tests.scores.live.endpoints.test_protocols import GRADED, ROLLOUT

SLIME = {"prompt": "2+2?", "response": "4", "label": "4"}


@pytest.fixture
def judge():
    """`judge(value)`: what is unfinished gets this score; `judge(code="timeout")`: it fails."""

    def make(value=0.8, *, code=None):
        for run in WorkflowRun.objects.filter(status="pending"):
            if code is None:
                WorkflowRun.objects.filter(pk=run.pk).update(status="completed", attempt=1)
                ScoreFactory(run=run, value=value)
                continue
            WorkflowRun.objects.filter(pk=run.pk).update(status="failed", error_code=code)
            Reward.objects.create(
                completion=run.completion, organization=run.organization, task=run.task, value=None, confidence=None,
                aggregation="mean", used=0, failed=1, error_code=code,
            )  # fmt: skip

    return make


def samples():
    return [
        (completion.prompt, completion.response, completion.metadata)
        for completion in Completion.objects.order_by("pk")
    ]


# --- each protocol, end to end --------------------------------------------------------------------------------------


def test_openrlhf(endpoint_of, call, judge):
    endpoint = endpoint_of(unscored="hold", neutral_value=None)
    body = {"query": ["<s>2+2? 4</s>"], "prompts": ["<s>2+2?"], "labels": ["4"]}
    assert call(endpoint, body).status == 503
    assert samples() == [("<s>2+2?", " 4</s>", {"label": "4"})]
    judge(0.8)
    answer = call(endpoint, body)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json == {"rewards": [0.8], "scores": [0.8], "extra_logs": {"autotune_unscored": [0.0]}}


def test_slime(endpoint_of, call, judge):
    endpoint = endpoint_of("slime", neutral_value=0.25)
    assert call(endpoint, SLIME).json == 0.25
    assert call(endpoint, SLIME, query="?rewardKey=score").json == {"score": 0.25, "state": "pending"}
    judge(1.0)
    assert call(endpoint, SLIME).raw == b"1.0"
    assert call(endpoint, SLIME, query="?rewardKey=score").json == {"score": 1.0, "state": "scored"}


@pytest.mark.parametrize("unscored", ["hold", "neutral", "error"])
def test_verify_is_always_answered(endpoint_of, call, judge, unscored):
    endpoint = endpoint_of("verify", unscored=unscored, neutral_value=None)
    late = call(endpoint, ROLLOUT)
    assert (late.status, late.json["reward"], late.json["_ng_failure_class"]) == (200, 0.0, "judge_failed")
    assert late.json["autotune_unscored"] == "pending"
    judge(code="timeout")
    assert call(endpoint, ROLLOUT).json["autotune_unscored"] == "timeout"
    judge(0.8)
    assert call(endpoint, {**ROLLOUT, "expected_answer": "5"}).json["_ng_failure_class"] == "judge_failed"
    judge(0.8)
    assert call(endpoint, {**ROLLOUT, "expected_answer": "5"}).json == {
        **ROLLOUT,
        "expected_answer": "5",
        "reward": 0.8,
    }


def test_foundry_behind_its_flag(endpoint_of, call, judge, settings):
    endpoint = endpoint_of("foundry", neutral_value=0.5)
    assert call(endpoint, GRADED).status == 404
    settings.FOUNDRY_GRADER = True
    assert call(endpoint, GRADED).json == {"score": 0.5}
    judge(0.8)
    assert call(endpoint, GRADED).json == {"score": 0.8}


# --- the policy -----------------------------------------------------------------------------------------------------


def test_the_policy_hold_makes_the_client_retry(endpoint_of, call, judge):
    endpoint = endpoint_of(unscored="hold", neutral_value=0.25)
    held = call(endpoint, whole("a", "b"))
    assert (held.status, held.json["code"], held.headers["Retry-After"]) == (503, "pending", "1")
    judge(0.8)
    assert call(endpoint, whole("a", "b")).json["rewards"] == [0.8, 0.8]


@pytest.mark.parametrize(
    ("unscored", "neutral", "status", "expected"),
    [
        ("hold", 0.25, 200, [0.25]),
        ("hold", None, 503, "timeout"),
        ("neutral", 0.25, 200, [0.25]),
        ("error", 0.25, 502, "timeout"),
    ],
)
def test_a_failed_sample_gets_the_policy(endpoint_of, call, judge, unscored, neutral, status, expected):
    endpoint = endpoint_of(unscored=unscored, neutral_value=neutral)
    call(endpoint, whole("a"))
    judge(code="timeout")
    answer = call(endpoint, whole("a"))
    assert (answer.status, answer.json.get("rewards") or answer.json["code"]) == (status, expected)
    if status == 200:
        assert answer.json["extra_logs"] == {"autotune_unscored": [1.0]}


def test_the_policy_error_reports_late_samples(endpoint_of, call):
    late = call(endpoint_of(unscored="error"), whole("a"))
    assert (late.status, late.json["code"]) == (503, "pending")


@pytest.mark.parametrize("unscored", ["neutral", "hold"])
def test_a_task_that_accepts_no_submissions_returns_existing_scores(endpoint_of, call, judge, live_task, unscored):
    endpoint = endpoint_of(unscored=unscored, neutral_value=0.25)
    call(endpoint, whole("a"))
    judge(0.8)
    live_task.archived = True
    live_task.save(update_fields=["archived"])
    assert call(endpoint, whole("a")).json["rewards"] == [0.8]
    assert call(endpoint, whole("b")).json["rewards"] == [0.25]


def test_the_policy_error_reports_an_inactive_grader(endpoint_of, call, live_task):
    grader = live_task.version.members.get().grader
    grader.status = "inactive"
    grader.save(update_fields=["status"])
    answer = call(endpoint_of(unscored="error"), whole("a"))
    assert (answer.status, answer.json["code"]) == (502, "grader_inactive")


@pytest.mark.parametrize("text", ["\x00", "x" * (1024 * 1024 + 1)])
def test_an_unscorable_sample_does_not_affect_others(endpoint_of, call, judge, text):
    endpoint = endpoint_of(neutral_value=0.25)
    call(endpoint, whole("a", text, "b"))
    judge(0.8)
    assert call(endpoint, whole("a", text, "b")).json["rewards"] == [0.8, 0.25, 0.8]
    assert Completion.objects.count() == 2


def test_rewards_are_finite_numbers_always(endpoint_of, call, judge):
    endpoint = endpoint_of(neutral_value=0.0)
    call(endpoint, whole("a"))
    judge(0)
    rewards = call(endpoint, whole("a", "b")).json["rewards"]
    assert all(isinstance(reward, float) and math.isfinite(reward) for reward in rewards)


# --- once -----------------------------------------------------------------------------------------------------------


def test_a_retry_joins_the_same_work(endpoint_of, call):
    endpoint = endpoint_of(unscored="hold")
    for _ in range(5):
        assert call(endpoint, whole("a")).status == 503
    assert (Completion.objects.count(), WorkflowRun.objects.count()) == (1, 1)


def test_equal_samples_of_two_endpoints_are_scored_once(endpoint_of, call, judge):
    call(endpoint_of(), whole("a", "a"))
    judge(0.8)
    assert call(endpoint_of(), whole("a")).json["rewards"] == [0.8]
    assert Completion.objects.count() == 1


def test_a_different_label_is_scored_separately(endpoint_of, call):
    for label in ("4", "5"):
        call(endpoint_of("slime"), {**SLIME, "label": label})
    assert Completion.objects.count() == 2


def test_completions_have_the_endpoints_model(endpoint_of, call):
    call(endpoint_of(model_id="policy-1"), whole("a"))
    assert Completion.objects.get().model_id == "policy-1"


def test_a_call_without_samples_is_answered(endpoint_of, call):
    assert call(endpoint_of(), whole()).json == {"rewards": [], "scores": [], "extra_logs": {"autotune_unscored": []}}


def test_many_samples_are_answered_in_order(endpoint_of, call, judge):
    endpoint = endpoint_of()
    responses = [f"r{n}" for n in range(8)] + ["r0", "\x00"]
    call(endpoint, whole(*responses))
    for n, run in enumerate(WorkflowRun.objects.order_by("pk")):
        WorkflowRun.objects.filter(pk=run.pk).update(status="completed", attempt=1)
        ScoreFactory(run=run, value=n / 10)
    by_response = {completion.response: completion.reward.value for completion in Completion.objects.all()}
    expected = [by_response.get(response, 0.25) for response in responses]
    assert call(endpoint, whole(*responses)).json["rewards"] == expected


# --- counts, log lines and events ---------------------------------------------------------------------------------------------------


def test_samples_answered_without_a_score_are_counted_and_logged(endpoint_of, call, judge, caplog, monkeypatch):
    monkeypatch.setattr(counting, "_missing", {})
    endpoint = endpoint_of()
    with caplog.at_level(logging.WARNING, logger="scores.live.counting"):
        for responses in (("a", "b"), ("a",), ("c",)):
            call(endpoint, whole(*responses))
    assert [record.getMessage() for record in caplog.records] == [
        f"{endpoint.public_id}: 2 samples had no score (pending 2)"
    ]
    judge(0.8)
    call(endpoint, whole("a", "b", "c"))
    endpoint.refresh_from_db()
    assert (endpoint.answered, endpoint.unscored_count) == (7, 4)
    assert endpoint.last_used_at is not None


def test_unanswered_samples_are_logged_and_not_counted(endpoint_of, call, caplog, monkeypatch):
    monkeypatch.setattr(counting, "_missing", {})
    endpoint = endpoint_of(unscored="hold")
    with caplog.at_level(logging.WARNING, logger="scores.live.counting"):
        call(endpoint, whole("a"))
    assert "1 samples had no score (pending 1)" in caplog.text
    endpoint.refresh_from_db()
    assert (endpoint.answered, endpoint.unscored_count) == (0, 0)


def test_each_call_leaves_an_event_without_the_token(endpoint_of, call):
    endpoint = endpoint_of()
    call(endpoint, whole("a", "b"))
    (event,) = AuditEvent.objects.all()
    assert (event.actor, event.object_id) == (endpoint.public_id, endpoint.public_id)
    assert (event.action, event.objects_count, event.status) == ("rewards.create", 2, 200)
    assert (event.organization_id, event.outcome) == (endpoint.organization_id, "succeeded")
    assert event.route == "/api/v1/rewards/:protocol/:token"
    assert endpoint.token not in str(vars(event))


def test_a_refused_call_leaves_an_event_too(endpoint_of, call):
    call(endpoint_of(), whole("a"), token="guess")
    (event,) = AuditEvent.objects.all()
    assert (event.actor, event.outcome, event.status, event.code) == ("anonymous", "refused", 404, "not_found")
    assert "guess" not in str(vars(event))


def test_a_held_call_leaves_an_event_for_storing_and_one_for_its_response(endpoint_of, call):
    call(endpoint_of(unscored="hold"), whole("a"))
    events = AuditEvent.objects.order_by("pk").values_list("status", "code")
    assert list(events) == [(200, ""), (503, "pending")]


def test_without_waiting_threads_a_call_is_refused(endpoint_of, call, settings):
    settings.LONG_POLL_MAX_WAITERS = 0
    for protocol, body in (("openrlhf", whole("a")), ("verify", ROLLOUT)):
        answer = call(endpoint_of(protocol, deadline_ms=60_000), body)
        assert (answer.status, answer.json["code"]) == (503, "too_many_waiting")


def test_calls_wait_for_panels_and_reviewers_too(key, call):
    graders = [GraderFactory(organization=key.organization) for _ in range(2)]
    task = TaskFactory(organization=key.organization, graders=graders)
    endpoint = RewardEndpointFactory(task=task, created_by=key.user, deadline_ms=1, unscored="hold")
    assert call(endpoint, whole("a")).status == 503
    assert WorkflowRun.objects.count() == 2
    assert Review.objects.count() == 0
