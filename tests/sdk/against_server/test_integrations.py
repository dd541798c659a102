"""The adapters of training frameworks against the server; the frameworks' own code is driven by examples/clients/."""

import asyncio
import pickle

import pytest
from autotune_sdk import AutotuneClient, ConfigurationError, NotFound
from autotune_sdk.integrations import openrlhf, swift, trl, verifiers, verl
from autotune_sdk.integrations._gathering import Gathering
from autotune_sdk.integrations.scoring import MissingReward, Scorer

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
PROMPTS = ["p0", "p1", "p2"]
ANSWERS = ["x" * 20, "x" * 50, "x" * 10]
VALUES = [0.2, 0.5, 0.1]
CHAT = [[{"role": "user", "content": prompt}] for prompt in PROMPTS]
REPLIES = [[{"role": "assistant", "content": answer}] for answer in ANSWERS]


@pytest.fixture(autouse=True)
def environment(monkeypatch, live_server, key, task):
    """What adapters that are loaded by name read."""
    monkeypatch.setenv("AUTOTUNE_API_KEY", key.text)
    monkeypatch.setenv("AUTOTUNE_BASE_URL", live_server.url)
    monkeypatch.setenv("AUTOTUNE_TASK_ID", task.id)
    monkeypatch.setattr("autotune_sdk.integrations._environment._scorers", {})


@pytest.fixture
def scored(client, task, score):
    """`scored(items)`: they are scored by now, so that an adapter's call finds them."""

    def run(items):
        client.rewards(items, task_id=task.id, deadline_s=1.5)
        score()

    return run


def plain(metadata=None):
    extra = [{}] * 3 if metadata is None else [{"metadata": entry} for entry in metadata]
    return [
        {"prompt": prompt, "response": answer, **more}
        for prompt, answer, more in zip(PROMPTS, ANSWERS, extra, strict=True)
    ]


def chats(metadata):
    return [
        {"messages": chat, "response": answer, "metadata": metadata} for chat, answer in zip(CHAT, ANSWERS, strict=True)
    ]


def test_trl_gets_numbers_and_none(client, fake, scored, task):
    fake.judge = lambda completion: (
        "no verdict" if completion["prompt"] == "p1" else {"value": len(completion["response"]) / 100, "confidence": 1}
    )
    scored(plain([{"answer": "a"}, {"answer": "b"}, {"answer": "c"}]))
    metrics, extra = {}, {}
    reward = trl.reward_func(task.id, client=client, metadata=["answer"])
    rewards = reward(
        prompts=PROMPTS,
        completions=ANSWERS,
        completion_ids=[[1]] * 3,
        answer=["a", "b", "c"],
        unnamed=[object()] * 3,
        trainer_state=None,
        log_metric=metrics.__setitem__,
        log_extra=extra.__setitem__,
    )
    assert rewards == [0.2, None, 0.1]
    assert metrics["autotune/unscored"] == 1
    assert extra["autotune_status"][::2] == ["completed", "completed"]
    assert extra["autotune_status"][1] not in ("completed", "pending")
    assert (reward.__name__, reward.scorer.totals.items, reward.scorer.totals.scored) == ("autotune", 3, 2)
    with pytest.raises(ConfigurationError, match="solution"):
        trl.reward_func(task.id, client=client, metadata=["solution"])(prompts=PROMPTS, completions=ANSWERS)


def test_trl_takes_conversations(client, scored, task):
    scored(chats({"answer": "a"}))
    reward = trl.async_reward_func(task.id, client=client, metadata=["answer"])
    assert asyncio.run(reward(prompts=CHAT, completions=REPLIES, answer=["a"] * 3)) == VALUES
    tools = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "t", "content": "4"},
        {"role": "assistant", "content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "4"}]},
    ]
    scored([{"messages": CHAT[0] + tools[:2], "response": "It is 4"}])
    assert trl.reward_func(task.id, client=client)(prompts=CHAT[:1], completions=[tools]) == [0.07]


def test_verl_has_the_same_members_on_each_sample(client, scored):
    scored(
        [
            {"prompt": "p0", "response": ANSWERS[0], "metadata": {"data_source": "gsm8k", "ground_truth": "4"}},
            {"messages": CHAT[1], "response": ANSWERS[1],
             "metadata": {"data_source": "gsm8k", "ground_truth": "5", "index": 1}},
        ]
    )  # fmt: skip
    result = verl.compute_score("gsm8k", ANSWERS[0], "4", {"prompt_text": "p0", "num_turns": 1}, deadline_s=5)
    assert (result["score"], result["autotune_scored"], result["autotune_confidence"], result["error"]) == (
        0.2,
        1,
        0.5,
        "",
    )
    with pytest.raises(ConfigurationError, match="prompt_text"):
        verl.compute_score("gsm8k", "r", "4", {})

    async def both():
        ask = verl.compute_score_async
        return await asyncio.gather(
            ask("gsm8k", ANSWERS[1], "5", {"prompt": CHAT[1], "index": 1}, metadata=["index"], deadline_s=3),
            ask("gsm8k", "unheard of", "5", {"prompt_text": "p"}, missing=0.25, deadline_s=1.5),
        )

    scored_result, unscored_result = asyncio.run(both())
    assert scored_result["score"] == 0.5
    assert (unscored_result["score"], unscored_result["autotune_scored"], unscored_result["error"]) == (
        0.25,
        0,
        "pending",
    )
    assert scored_result.keys() == unscored_result.keys() == result.keys()
    assert [type(value) for value in scored_result.values()] == [type(value) for value in unscored_result.values()]


def test_swift_always_gets_a_number(scored, monkeypatch):
    class Plugin(swift.AutotuneORM):
        options = {"deadline_s": 1.5, "missing": 0.125}

    class Awaited(swift.AutotuneAsyncORM):
        options = {"deadline_s": 5}

    scored(chats({"solution": "s"}))
    columns = {
        "messages": [chat + reply for chat, reply in zip(CHAT, REPLIES, strict=True)],
        "solution": ["s"] * 3,
        "trainer_state": None,
    }
    assert Plugin(args=None)(ANSWERS, **columns) == VALUES
    assert asyncio.run(Awaited()(ANSWERS, **columns)) == VALUES
    other = {**columns, "solution": ["s", "t", "s"]}
    assert Plugin()(ANSWERS, **other) == [0.2, 0.125, 0.1]
    with pytest.raises(ConfigurationError):
        Plugin()(ANSWERS)
    monkeypatch.setenv("AUTOTUNE_REWARD_MISSING", "none")
    with pytest.raises(ConfigurationError):
        asyncio.run(Awaited()(ANSWERS, **columns))


def test_openrlhf_gets_three_lists(scored, monkeypatch):
    monkeypatch.setenv("AUTOTUNE_REWARD_DEADLINE_S", "1.5")
    monkeypatch.setenv("AUTOTUNE_REWARD_MISSING", "0.5")
    monkeypatch.setenv("AUTOTUNE_REWARD_STRIP", "</s>,<|im_end|>")
    scored(plain([{"label": "4"}, {"label": "5"}, {}]))
    answer = openrlhf.reward_func(
        ["<s>p0" + ANSWERS[0] + "</s>", "p1" + ANSWERS[1] + "<|im_end|></s>", "another"], PROMPTS, ["4", "5", None]
    )
    assert [float(value) for value in answer["rewards"]] == [pytest.approx(0.2), 0.5, 0.5]
    assert [float(value) for value in answer["scores"]] == [float(value) for value in answer["rewards"]]
    logs = {name: [float(value) for value in column] for name, column in answer["extra_logs"].items()}
    assert logs == {"autotune_unscored": [0, 0, 1], "autotune_not_split": [0, 0, 1]}


@pytest.mark.parametrize(
    ("query", "prompt", "expected"),
    [
        ("ab", "a", ("b", True)),
        ("<s>ab</s></s>", "a", ("b", True)),
        ("ab", "<|begin_of_text|>a", ("b", True)),
        ("a b", "ab", ("a b", False)),
        ("a", "a", ("", True)),
        ("", "", ("", True)),
    ],
)
def test_the_response_is_what_follows_the_prompt(query, prompt, expected):
    assert openrlhf.split(query, prompt, ("</s>",)) == expected


class Trace:
    """As much of a verifiers trace as the reward reads."""

    class Message(dict):
        def __getattr__(self, name):
            return self[name]

        def model_dump(self, **_):
            return dict(self)

    def __init__(self, index):
        self.messages = [self.Message(message) for message in (*CHAT[index], *REPLIES[index])]
        self.last_reply, self.info = ANSWERS[index], {}


class Data:
    def model_dump(self, **_):
        return {"idx": 1, "answer": "a"}


def test_verifiers_gets_a_number_or_an_exception(client, scored, task, monkeypatch):
    scored(chats({"answer": "a"}))
    monkeypatch.setenv("AUTOTUNE_REWARD_DEADLINE_S", "5")
    trace = Trace(1)
    assert asyncio.run(verifiers.reward(Data(), trace)) == 0.5
    assert trace.info["autotune"]["status"] == "completed"
    strict = verifiers.reward_for(task.id, client=client, metadata=(), deadline_s=1.5)
    with pytest.raises(MissingReward):
        asyncio.run(strict(Data(), Trace(0)))

    classic = verifiers.rubric_func(task.id, client=client, missing=0.25, deadline_s=1.5, name="quality")
    state = {}
    assert (
        asyncio.run(classic(prompt=CHAT[2], completion=REPLIES[2], answer="a", state=state, task="t", info={})) == 0.1
    )
    assert (classic.__name__, state["autotune"]["status"]) == ("quality", "completed")
    assert asyncio.run(classic(prompt="unheard", completion="of", answer="a", state=state)) == 0.25


def test_refused_items_are_unscored_and_the_rest_is_scored(client, scored, task):
    scored(plain())
    seen = []
    scorer = Scorer(task.id, client=client, deadline_s=5, on_call=seen.append)
    items = [*plain(), {"prompt": "p", "response": "\0"}, {"prompt": "p", "response": "\ud800"}]
    result = scorer.score(items)
    assert result.values == [*VALUES, None, None]
    assert [reward.status for reward in result.rewards[3:]] == ["failed", "failed"]
    (metrics,) = seen
    assert (metrics.items, metrics.scored, metrics.unscored, metrics.mean) == (5, 3, 2, pytest.approx(0.8 / 3))
    assert sum(metrics.codes.values()) == 2
    assert Scorer(task.id, client=client, deadline_s=5, missing=0.5).score(items).numbers == [*VALUES, 0.5, 0.5]
    with pytest.raises(MissingReward) as missing:
        Scorer(task.id, client=client, deadline_s=5, missing="raise").score(items)
    assert len(missing.value.rewards) == 5


def test_permanent_errors_are_raised(client, key, task, live_server):
    with pytest.raises(NotFound):
        Scorer("task_00000000000000000000000001", client=client).score(plain())
    for wrong in (float("nan"), float("inf"), True, "0.5"):
        with pytest.raises(ConfigurationError):
            Scorer(task.id, client=client, missing=wrong)


def test_an_unavailable_server_is_retried_until_the_deadline(task, caplog):
    with AutotuneClient("at_test_x", "http://127.0.0.1:1") as away:
        result = Scorer(task.id, client=away, deadline_s=0.3, missing=0.5).score(plain())
    assert result.values == [0.5] * 3
    assert result.metrics.seconds < 2
    assert result.metrics.codes == {"connection_failed": 3}
    assert "3 of 3 answers have no reward (3 connection_failed), given as 0.5" in caplog.text


def test_a_pickled_scorer_contains_no_key(client, key, task, scored):
    scored(plain())
    scorer = Scorer(task.id, client=client, deadline_s=5)
    sent = pickle.dumps(scorer)
    assert key.text.encode() not in sent
    assert pickle.loads(sent).score(plain()).values == VALUES


def test_single_requests_are_gathered(client, scored, task):
    scored(plain())
    seen = []
    gathering = Gathering(Scorer(task.id, client=client, deadline_s=5, on_call=seen.append))

    async def all_at_once():
        return await asyncio.gather(*(gathering.reward(item) for item in plain()))

    assert [reward.value for reward in asyncio.run(all_at_once())] == VALUES
    assert [call_metrics.items for call_metrics in seen] == [3]
