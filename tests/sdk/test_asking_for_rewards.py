"""How the client asks for rewards: tries until the deadline, rounds that ask for what is open, several requests."""

from __future__ import annotations

import json
import threading
import time

import pytest
from autotune_sdk import AutotuneClient, ConflictError, LiveReward, ServerError, UnexpectedAnswer
from autotune_sdk import _rewarding as rewarding
from pytest_httpserver import HTTPServer
from werkzeug import Response

ITEMS = [{"prompt": f"p{n}", "response": "r"} for n in range(3)]


def answer(*values):
    """Rewards; None for one that is pending."""
    rewards = [
        {"value": value, "confidence": value and 1.0, "completionId": f"comp_{n}", "code": None,
         "status": "pending" if value is None else "completed"}
        for n, value in enumerate(values)
    ]  # fmt: skip
    return 200, {}, json.dumps({"rewards": rewards}).encode()


def sent(fake):
    return [json.loads(body) for method, path, _, _, body in fake.requests if path == "/rewards"]


def test_it_tries_until_the_deadline_however_often(client, fake, task_id):
    fake.script = [(503, {}, b"")] * 6 + [None, answer(0.1, 0.2, 0.3)]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=60)
    assert [reward.value for reward in rewards] == [0.1, 0.2, 0.3]
    assert len(client._transport.naps) == 7
    assert [body["deadlineMs"] for body in sent(fake)] == [sent(fake)[0]["deadlineMs"]] * 8
    assert not any("Idempotency-Key" in headers for _, _, _, headers, _ in fake.requests)


def test_only_pending_items_are_requested_again(client, fake, task_id):
    fake.script = [answer(0.1, None, None), answer(None, 0.3), answer(0.2)]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=60, fresh=True)
    assert [reward.value for reward in rewards] == [0.1, 0.2, 0.3]
    assert [[item["prompt"] for item in body["items"]] for body in sent(fake)] == [
        ["p0", "p1", "p2"],
        ["p1", "p2"],
        ["p1"],
    ]
    assert [body.get("fresh") for body in sent(fake)] == [True, None, None]


def test_a_failed_later_round_keeps_known_rewards(client, fake, task_id, monkeypatch):
    monkeypatch.setattr(rewarding, "PAUSE_S", 0.1)
    client._transport.sleep = time.sleep
    fake.script = [answer(0.1, None, None), *[(503, {"Retry-After": "60"}, b"")] * 50]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=1.0)
    assert [(reward.value, reward.status) for reward in rewards] == [
        (0.1, "completed"),
        (None, "pending"),
        (None, "pending"),
    ]


def test_no_response_at_all_is_an_error_at_the_deadline(client, fake, task_id):
    fake.script = [(503, {"Retry-After": "60"}, b"")]
    began = time.monotonic()
    with pytest.raises(ServerError):
        client.rewards(ITEMS, task_id=task_id, deadline_s=0.5)
    assert time.monotonic() - began < 2


def test_one_failed_request_of_several_affects_only_its_items(client, fake, task_id, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 2)
    monkeypatch.setattr(rewarding, "AT_ONCE", 1)
    fake.script = [answer(0.1, 0.2), (503, {"Retry-After": "60"}, b"")]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=5)
    assert [reward.value for reward in rewards] == [0.1, 0.2, None]
    assert (rewards[2].status, rewards[2].final, rewards[2].code) == ("pending", False, "http_503")


def test_a_response_of_another_length_is_an_error(client, fake, task_id):
    fake.script = [answer(0.1)]
    with pytest.raises(UnexpectedAnswer):
        client.rewards(ITEMS, task_id=task_id, deadline_s=5)


def test_a_failure_is_final():
    assert LiveReward(None, None, "comp_1", "failed", "grader_error").final


def problem(status, code):
    return status, {"Content-Type": "application/problem+json"}, json.dumps({"code": code, "detail": "d"}).encode()


def test_a_temporary_failure_is_retried_with_the_same_key(client, fake, task_id):
    fake.script = [(500, {}, b""), problem(409, "conflict"), (507, {}, b""), answer(0.1, 0.2, 0.3)]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=60, fresh=True)
    assert [reward.value for reward in rewards] == [0.1, 0.2, 0.3]
    assert len({(body, headers["Idempotency-Key"]) for _, _, _, headers, body in fake.requests}) == 1
    fake.script = [problem(409, "grader_inactive")]
    with pytest.raises(ConflictError):
        client.rewards(ITEMS, task_id=task_id, deadline_s=60)


def test_a_failed_later_round_is_followed_by_others(client, fake, task_id):
    fake.script = [answer(0.1, None, None), (500, {"Retry-After": "100"}, b""), answer(0.2, 0.3)]
    rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=60)
    assert [reward.value for reward in rewards] == [0.1, 0.2, 0.3]


def test_the_last_failure_is_raised_at_the_deadline(client, fake, task_id):
    client._transport.sleep = time.sleep
    fake.script = [(500, {}, b""), *[problem(409, "conflict")] * 50]
    with pytest.raises(ConflictError):
        client.rewards(ITEMS, task_id=task_id, deadline_s=1.5)
    assert len(fake.requests) > 1


@pytest.fixture
def slow():
    """A server that answers each request in a thread of its own."""
    with HTTPServer("127.0.0.1", 0, threaded=True) as server:
        yield server


def reply(request, value):
    return Response(answer(*[value] * len(request.json["items"]))[2], mimetype="application/json")


def test_the_requests_of_one_call_wait_concurrently(slow, task_id, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 1)
    together = threading.Barrier(9)

    def handler(request):
        together.wait(timeout=3)
        return reply(request, 0.5)

    slow.expect_request("/api/v1/rewards").respond_with_handler(handler)
    with AutotuneClient("k", slow.url_for("/")) as client:
        rewards = client.rewards([ITEMS[0]] * 9, task_id=task_id, deadline_s=10)
    assert [reward.value for reward in rewards] == [0.5] * 9


def test_all_requests_are_sent_before_any_is_awaited(slow, task_id, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 1)
    monkeypatch.setattr(rewarding, "AT_ONCE", 3)
    monkeypatch.setattr(rewarding, "PAUSE_S", 0.1)
    sent, all_sent = set(), threading.Event()

    def handler(request):
        sent.add(request.json["items"][0]["prompt"])
        if len(sent) == 10:
            all_sent.set()
        done = all_sent.wait(request.json["deadlineMs"] / 1000)
        return reply(request, 0.5 if done else None)

    slow.expect_request("/api/v1/rewards").respond_with_handler(handler)
    with AutotuneClient("k", slow.url_for("/")) as client:
        items = [{"prompt": f"p{n}", "response": "r"} for n in range(10)]
        rewards = client.rewards(items, task_id=task_id, deadline_s=8)
    assert [reward.value for reward in rewards] == [0.5] * 10


def test_unanswered_requests_do_not_use_up_the_time_of_others(slow, task_id, monkeypatch):
    monkeypatch.setattr(rewarding, "MAX_ITEMS", 1)
    monkeypatch.setattr(rewarding, "AT_ONCE", 1)

    def handler(request):
        good = request.json["items"][0]["prompt"] == "p2"
        return reply(request, 0.5) if good else Response(status=500)

    slow.expect_request("/api/v1/rewards").respond_with_handler(handler)
    began = time.monotonic()
    with AutotuneClient("k", slow.url_for("/")) as client:
        rewards = client.rewards(ITEMS, task_id=task_id, deadline_s=3)
    assert [(reward.value, reward.code) for reward in rewards] == [(None, "http_500"), (None, "http_500"), (0.5, None)]
    assert time.monotonic() - began < 4
