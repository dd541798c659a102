"""A training without rewards ends with the reason, instead of learning from replacement numbers for hours."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest
from autotune_sdk import AutotuneClient, ConfigurationError
from autotune_sdk.integrations import _environment, openrlhf, scoring, swift, trl, verifiers, verl
from autotune_sdk.integrations._answers import Refusal
from autotune_sdk.integrations.scoring import MissingReward, Scorer, TooManyUnscored
from werkzeug import Response

USER = {"role": "user", "content": "q"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": ""}}],
}
OFF = {"status": 409, "code": "grader_inactive", "title": "x", "detail": "The grader Quality is switched off."}


@pytest.fixture
def server(httpserver: Any) -> Any:
    """Scores what does not begin with `fail`; `server.off = True`: refuses all, as with an inactive grader."""
    httpserver.off, httpserver.seen = False, []

    def handler(request: Any) -> Response:
        items = request.json["items"]
        httpserver.seen += items
        if httpserver.off:
            return Response(json.dumps(OFF), 409, mimetype="application/problem+json")
        failed = {"value": None, "confidence": None, "completionId": "c", "status": "failed", "code": "grader_error"}
        good = {"value": 0.5, "confidence": 1.0, "completionId": "c", "status": "completed", "code": None}
        rewards = [failed if item["response"].startswith("fail") else good for item in items]
        return Response(json.dumps({"rewards": rewards}), mimetype="application/json")

    httpserver.expect_request("/api/v1/rewards").respond_with_handler(handler)
    return httpserver


@pytest.fixture
def scorer(server: Any, task_id: str) -> Any:
    client = AutotuneClient("k", server.url_for("/"))
    yield lambda **options: Scorer(task_id, client=client, deadline_s=5, **options)
    client.close()


@pytest.fixture
def environment(server: Any, task_id: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AUTOTUNE_API_KEY", "k")
    monkeypatch.setenv("AUTOTUNE_BASE_URL", server.url_for("/"))
    monkeypatch.setenv("AUTOTUNE_TASK_ID", task_id)
    monkeypatch.setenv("AUTOTUNE_REWARD_DEADLINE_S", "5")
    monkeypatch.setattr(_environment, "_scorers", {})
    return monkeypatch


def items(*responses: str) -> list[dict[str, Any]]:
    return [{"prompt": "p", "response": response} for response in responses]


def test_too_many_answers_in_a_row_without_a_reward_raise_with_the_reason(scorer: Any) -> None:
    instance = scorer(missing=0.0, fail_after=4)
    assert instance.score(items("fail", "fail")).numbers == [0.0, 0.0]
    assert instance.score(items("fail")).numbers == [0.0]
    with pytest.raises(TooManyUnscored, match="the last 4 answers have no reward: 4 grader_error") as caught:
        instance.score(items("fail"))
    assert (caught.value.unscored, caught.value.codes, caught.value.code) == (
        4,
        {"grader_error": 4},
        "too_many_unscored",
    )
    assert "AUTOTUNE_REWARD_FAIL_AFTER" in caught.value.detail
    assert instance.totals.items == 4
    with pytest.raises(TooManyUnscored, match="the last 5"):  # it stays an error until the next reward
        instance.score(items("fail"))
    assert instance.score(items("good", "fail")).numbers == [0.5, 0.0]


def test_one_reward_resets_the_count(scorer: Any) -> None:
    instance = scorer(missing=0.0, fail_after=3)
    for _ in range(5):
        instance.score(items("fail", "fail", "good"))
        instance.score(items("fail", "fail"))
        instance.score(items("good"))
    with pytest.raises(TooManyUnscored):
        instance.score(items("good", "fail", "fail", "fail"))


def test_the_error_includes_the_detail_of_the_server(scorer: Any, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.off = True
    instance = scorer(missing=0.0, fail_after=2)
    instance.deadline_s = 1.0
    with pytest.raises(TooManyUnscored, match="grader_inactive: The grader Quality is switched off") as caught:
        instance.score(items("a", "b"))
    assert caught.value.codes == {"grader_inactive": 2}


def test_rows_that_cannot_be_mapped_count_with_their_reason(scorer: Any, server: Any) -> None:
    instance = scorer(missing=None, fail_after=2)
    assert instance.score([Refusal("unknown_role", "Message 1 has no role.")]).values == [None]
    with pytest.raises(TooManyUnscored, match="unknown_role: Message 1 has no role"):
        instance.score([Refusal("unknown_role", "Message 1 has no role.")])
    assert server.seen == []


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"missing": 0.0}, scoring.FAIL_AFTER), ({"missing": 1}, scoring.FAIL_AFTER), ({"missing": None}, 0),
        ({"missing": "raise"}, 0), ({"missing": 0.0, "fail_after": 0}, 0), ({"missing": None, "fail_after": 7}, 7),
    ],
)  # fmt: skip
def test_the_default_limit_applies_only_if_a_number_replaces_missing_rewards(
    scorer: Any, options: dict[str, Any], limit: int
) -> None:
    assert scorer(**options).fail_after == limit


@pytest.mark.parametrize("wrong", [-1, True, 0.5, "9"])
def test_an_invalid_limit_is_refused(scorer: Any, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="fail_after"):
        scorer(fail_after=wrong)


def test_a_limit_of_zero_never_raises(scorer: Any) -> None:
    instance = scorer(missing=0.0, fail_after=0)
    assert set(instance.score(items(*["fail"] * 50)).numbers) == {0.0}


def test_a_copy_in_another_process_continues_the_count(scorer: Any) -> None:
    instance = scorer(missing=0.0, fail_after=3)
    instance.score(items("fail", "fail"))
    copy = pickle.loads(pickle.dumps(instance))
    copy._client = instance.client
    with pytest.raises(TooManyUnscored):
        copy.score(items("fail"))


def test_missing_reward_is_raised_until_the_limit_is_reached(scorer: Any) -> None:
    instance = scorer(missing="raise", fail_after=2)
    with pytest.raises(MissingReward):
        instance.score(items("fail"))
    with pytest.raises(TooManyUnscored):
        instance.score(items("fail"))


# --- every adapter --------------------------------------------------------------------------------------------------


def test_every_adapter_loaded_by_name_reads_the_limit_from_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AUTOTUNE_REWARD_FAIL_AFTER", "2")
    environment.setenv("AUTOTUNE_REWARD_MISSING", "0.25")
    chats = [[USER, {"role": "assistant", "content": "fail"}]]
    calls = {
        "openrlhf": lambda: openrlhf.reward_func(["pfail"], ["p"])["rewards"],
        "verl": lambda: [verl.compute_score("d", "fail", "4", {"prompt": "p"})["score"]],
        "verl async": lambda: [asyncio.run(verl.compute_score_async("d", "fail", "4", {"prompt": "p"}))["score"]],
        "swift": lambda: swift.AutotuneORM(args=None)(["fail"], messages=chats),
        "swift async": lambda: asyncio.run(swift.AutotuneAsyncORM(args=None)(["fail"], messages=chats)),
    }
    for name, call in calls.items():
        environment.setattr(_environment, "_scorers", {})
        environment.setattr(verl, "_gatherings", {})
        assert [float(value) for value in call()] == [0.25], name
        with pytest.raises(TooManyUnscored, match="grader_error"):
            call()


@pytest.mark.parametrize("wrong", ["many", "1.5", "-1"])
def test_an_invalid_limit_in_the_environment_is_refused(environment: pytest.MonkeyPatch, wrong: str) -> None:
    environment.setenv("AUTOTUNE_REWARD_FAIL_AFTER", wrong)
    with pytest.raises(ConfigurationError):
        _environment.scorer(5.0, 0.0)


def test_adapters_created_by_a_call_take_the_limit_as_an_option(server: Any, task_id: str) -> None:
    client = AutotuneClient("k", server.url_for("/"))
    options: dict[str, Any] = {"client": client, "fail_after": 2, "deadline_s": 5}
    reward = trl.reward_func(task_id, **options)
    assert reward(prompts=["p"], completions=["fail"]) == [None]
    with pytest.raises(TooManyUnscored):
        reward(prompts=["p"], completions=["fail"])
    awaited = trl.async_reward_func(task_id, **options)
    with pytest.raises(TooManyUnscored):
        asyncio.run(awaited(prompts=["p"] * 2, completions=["fail"] * 2))
    rubric = verifiers.rubric_func(task_id, missing=0.0, **options)
    assert asyncio.run(rubric(prompt="p", completion="fail")) == 0.0
    with pytest.raises(TooManyUnscored):
        asyncio.run(rubric(prompt="p", completion="fail"))
    client.close()


# --- answers without text -------------------------------------------------------------------------------------------


def test_c4_the_policy_decides_how_to_treat_an_answer_without_text(scorer: Any, server: Any, caplog: Any) -> None:
    rows = [*items("", " \n", "good"), trl.reward_func("task_x").items([[USER]], [[CALLING]], {})[0]]
    scored = scorer(missing=None).score(rows)
    assert scored.values == [0.5, 0.5, 0.5, None]
    assert scored.metrics.codes == {"no_text": 1}
    assert "no_text: The answer of the model holds no text." in caplog.text
    assert scorer(missing=None, without_text="strict").score(rows).values == [None, None, 0.5, None]
    server.seen.clear()
    assert scorer(missing=None, without_text="empty").score(rows).values == [0.5] * 4
    assert server.seen[3] == {"messages": [USER, CALLING], "response": ""}


def test_c4_adapters_read_the_policy_from_the_environment(environment: pytest.MonkeyPatch, server: Any) -> None:
    environment.setenv("AUTOTUNE_REWARD_WITHOUT_TEXT", "strict")
    assert [float(value) for value in openrlhf.reward_func(["p"], ["p"])["extra_logs"]["autotune_unscored"]] == [1.0]
    assert server.seen == []
    environment.setenv("AUTOTUNE_REWARD_WITHOUT_TEXT", "zero")
    with pytest.raises(ConfigurationError, match="without_text must be one of unscored, empty, strict, not 'zero'"):
        _environment.scorer(5.0, 0.0)
