"""A training that gets no rewards ends with the reason, instead of learning from stand-ins for hours."""

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
        rewards = [failed if one["response"].startswith("fail") else good for one in items]
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


def test_so_many_answers_in_a_row_without_a_reward_end_it_with_the_reason(scorer: Any) -> None:
    one = scorer(missing=0.0, fail_after=4)
    assert one.score(items("fail", "fail")).numbers == [0.0, 0.0]
    assert one.score(items("fail")).numbers == [0.0]
    with pytest.raises(TooManyUnscored, match="the last 4 answers have no reward: 4 grader_error") as caught:
        one.score(items("fail"))
    assert (caught.value.unscored, caught.value.codes, caught.value.code) == (
        4,
        {"grader_error": 4},
        "too_many_unscored",
    )
    assert "AUTOTUNE_REWARD_FAIL_AFTER" in caught.value.detail
    assert one.totals.items == 4
    with pytest.raises(TooManyUnscored, match="the last 5"):  # it stays an error until a reward comes
        one.score(items("fail"))
    assert one.score(items("good", "fail")).numbers == [0.5, 0.0]


def test_one_reward_begins_the_count_anew(scorer: Any) -> None:
    one = scorer(missing=0.0, fail_after=3)
    for _ in range(5):
        one.score(items("fail", "fail", "good"))
        one.score(items("fail", "fail"))
        one.score(items("good"))
    with pytest.raises(TooManyUnscored):
        one.score(items("good", "fail", "fail", "fail"))


def test_the_reason_names_what_the_server_said(scorer: Any, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.off = True
    one = scorer(missing=0.0, fail_after=2)
    one.deadline_s = 1.0
    with pytest.raises(TooManyUnscored, match="grader_inactive: The grader Quality is switched off") as caught:
        one.score(items("a", "b"))
    assert caught.value.codes == {"grader_inactive": 2}


def test_rows_that_cannot_be_mapped_count_with_their_reason(scorer: Any, server: Any) -> None:
    one = scorer(missing=None, fail_after=2)
    assert one.score([Refusal("unknown_role", "Message 1 has no role.")]).values == [None]
    with pytest.raises(TooManyUnscored, match="unknown_role: Message 1 has no role"):
        one.score([Refusal("unknown_role", "Message 1 has no role.")])
    assert server.seen == []


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"missing": 0.0}, scoring.FAIL_AFTER), ({"missing": 1}, scoring.FAIL_AFTER), ({"missing": None}, 0),
        ({"missing": "raise"}, 0), ({"missing": 0.0, "fail_after": 0}, 0), ({"missing": None, "fail_after": 7}, 7),
    ],
)  # fmt: skip
def test_by_default_it_ends_where_a_number_stands_in(scorer: Any, options: dict[str, Any], limit: int) -> None:
    assert scorer(**options).fail_after == limit


@pytest.mark.parametrize("wrong", [-1, True, 0.5, "9"])
def test_a_limit_that_cannot_be_is_refused(scorer: Any, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="fail_after"):
        scorer(fail_after=wrong)


def test_zero_never_ends_it(scorer: Any) -> None:
    one = scorer(missing=0.0, fail_after=0)
    assert set(one.score(items(*["fail"] * 50)).numbers) == {0.0}


def test_a_copy_in_another_process_counts_on(scorer: Any) -> None:
    one = scorer(missing=0.0, fail_after=3)
    one.score(items("fail", "fail"))
    copy = pickle.loads(pickle.dumps(one))
    copy._client = one.client
    with pytest.raises(TooManyUnscored):
        copy.score(items("fail"))


def test_raise_comes_first_for_each_answer_and_then_the_end(scorer: Any) -> None:
    one = scorer(missing="raise", fail_after=2)
    with pytest.raises(MissingReward):
        one.score(items("fail"))
    with pytest.raises(TooManyUnscored):
        one.score(items("fail"))


# --- every adapter --------------------------------------------------------------------------------------------------


def test_every_adapter_that_is_loaded_by_name_reads_it_from_the_environment(environment: pytest.MonkeyPatch) -> None:
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
def test_an_environment_that_cannot_be_is_refused(environment: pytest.MonkeyPatch, wrong: str) -> None:
    environment.setenv("AUTOTUNE_REWARD_FAIL_AFTER", wrong)
    with pytest.raises(ConfigurationError):
        _environment.scorer(5.0, 0.0)


def test_those_that_are_made_by_a_call_take_it_as_an_option(server: Any, task_id: str) -> None:
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


def test_c4_the_policy_decides_what_becomes_of_an_answer_without_text(scorer: Any, server: Any, caplog: Any) -> None:
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
