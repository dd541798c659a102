"""Live rewards, reward endpoints and preference pairs through the client."""

import time

import pytest
import requests
from autotune_sdk import InvalidRequest, NotFound
from autotune_sdk import _rewarding as rewarding

from tests.support.concurrency import aside
from tests.support.submitting import is_recent

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
ANSWERS = [{"prompt": "p", "response": "x" * n, "metadata": {"n": n}} for n in (40, 10, 30)]


def test_rewards_keep_their_order_and_equal_work_is_reused(client, task, score):
    before = client.rewards(ANSWERS, task_id=task.id, deadline_s=4)
    assert [(reward.value, reward.status, reward.code, reward.final) for reward in before] == [
        (None, "pending", None, False)
    ] * 3
    score()
    after = client.rewards(ANSWERS, task_id=task.id, deadline_s=5)
    assert [(reward.value, reward.confidence, reward.status) for reward in after] == [
        (0.4, 0.5, "completed"),
        (0.1, 0.5, "completed"),
        (0.3, 0.5, "completed"),
    ]
    assert [reward.completion_id for reward in after] == [reward.completion_id for reward in before]
    assert client.completions.get(after[0].completion_id).metadata == {"n": 40}
    anew = client.rewards(ANSWERS, task_id=task.id, deadline_s=4, fresh=True)
    assert not {reward.completion_id for reward in anew} & {reward.completion_id for reward in after}


def test_messages_may_replace_a_prompt(client, task, score):
    chat = [{"messages": [{"role": "user", "content": "2+2?"}], "response": "4"}]
    client.rewards(chat, task_id=task.id, model_id="policy-3", deadline_s=1.5)
    score()
    (reward,) = client.rewards(chat, task_id=task.id, model_id="policy-3", deadline_s=5)
    completion = client.completions.get(reward.completion_id)
    assert (reward.value, completion.model_id, completion.messages) == (0.01, "policy-3", chat[0]["messages"])


def test_a_failure_is_no_zero(client, task, fake, score):
    fake.judge = lambda completion: "no verdict"
    client.rewards(ANSWERS[:1], task_id=task.id, deadline_s=1.5)
    score()
    (reward,) = client.rewards(ANSWERS[:1], task_id=task.id, deadline_s=5)
    assert (reward.value, reward.status) == (None, "failed")
    assert reward.code


def test_a_refusal_names_the_item(client, task, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 2)
    wrong = [*ANSWERS, {"prompt": "p", "response": "\0"}]
    with pytest.raises(InvalidRequest) as refused:
        client.rewards(wrong, task_id=task.id, deadline_s=5)
    assert [(e.index, e.pointer) for e in refused.value.errors] == [(3, "/items/3/response")]
    with pytest.raises(NotFound):
        client.rewards(ANSWERS, task_id="task_00000000000000000000000001", deadline_s=5)
    with pytest.raises(TypeError, match="answer"):
        client.rewards([{"prompt": "p", "answer": "4"}], task_id=task.id)
    assert client.rewards([], task_id=task.id) == []


def test_many_rewards_take_several_requests(client, task, score, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 7)
    many = [{"prompt": f"p{n}", "response": "x" * n} for n in range(30)]
    client.rewards(many, task_id=task.id, deadline_s=1)
    score()
    rewards = client.rewards(many, task_id=task.id, deadline_s=10)
    assert [reward.value for reward in rewards] == [n / 100 for n in range(30)]


@pytest.mark.postgres
def test_it_waits_in_rounds_until_all_are_final(client, task, score, monkeypatch):
    monkeypatch.setattr(rewarding, "ROUND_S", 0.3)
    began = time.monotonic()
    waiting = aside(lambda: client.rewards(ANSWERS, task_id=task.id, deadline_s=20))
    while time.monotonic() < began + 1:
        assert not waiting.done()
    score()
    assert [reward.value for reward in waiting.result(10)] == [0.4, 0.1, 0.3]
    assert time.monotonic() - began < 10


def test_the_whole_life_of_a_reward_endpoint(client, task, score):
    registration = client.reward_endpoints.create(
        task_id=task.id, protocol="slime", unscored="neutral", neutral_value=0.5, deadline_ms=200, model_id="policy"
    )
    endpoint = registration.reward_endpoint
    assert (endpoint.protocol, endpoint.unscored, endpoint.neutral_value, endpoint.deadline_ms) == (
        "slime", "neutral", 0.5, 200,
    )  # fmt: skip
    assert (endpoint.enabled, endpoint.model_id, endpoint.counts.answered) == (True, "policy", 0)
    assert is_recent(endpoint.created_at)
    assert client.reward_endpoints.get(endpoint.id) == endpoint
    assert [row.id for row in client.reward_endpoints.list(task_id=task.id, protocol="slime")] == [endpoint.id]

    address = client.base_url + "/api/v1/rewards/" + registration.url.partition("/rewards/")[2]
    sample = {"prompt": "p", "response": "four", "label": "4"}
    assert requests.post(address, json=sample, timeout=10).json() == 0.5
    score()
    assert requests.post(address, json=sample, timeout=10).json() == 0.04

    changed = client.reward_endpoints.update(endpoint.id, unscored="hold", neutral_value=None)
    assert (changed.unscored, changed.neutral_value) == ("hold", None)
    rotated = client.reward_endpoints.rotate(endpoint.id)
    assert rotated.url != registration.url
    assert requests.post(address, json=sample, timeout=10).status_code == 404
    assert client.reward_endpoints.update(endpoint.id, enabled=False).enabled is False
    client.reward_endpoints.delete(endpoint.id)
    with pytest.raises(NotFound):
        client.reward_endpoints.get(endpoint.id)


def test_pairs_are_the_same_for_the_same_seed(client, task, score):
    client.completions.submit_batch(
        [
            {"model_id": "m", "prompt": f"p{p}", "response": "x" * (10 * n), "external_id": f"{p}-{n}"}
            for p in range(4)
            for n in range(1, 5)
        ],
        task_id=task.id,
    )
    score()
    best = client.preference_pairs(task_id=task.id, sample_size=10)
    assert len(best) == 4
    assert {(pair.chosen_score, pair.rejected_score) for pair in best} == {(0.4, 0.1)}
    assert [pair.margin for pair in best] == [pytest.approx(0.3)] * 4
    first_sample, same = (
        client.preference_pairs(task_id=task.id, sample_size=5, strategy="random", seed=7, min_score_delta=0.15)
        for _ in range(2)
    )
    assert first_sample == same
    assert all(len(pair.chosen) > len(pair.rejected) for pair in first_sample)
    assert first_sample.available >= len(first_sample) > 0
