"""Callbacks beyond the published vectors: batches, other states, equal refusals."""

import json

import pytest

from graders.gateway import signing
from graders.gateway.callbacks import UNAUTHORIZED, CallbackAttempt, judge
from graders.gateway.types import SharedSecret
from graders.verdicts import Verdict

KEY = SharedSecret("key_1", "atgs_" + "k" * 43)
NOW = 1_764_288_000
GOOD = {"value": 0.5, "confidence": 1}


def attempt(**changes):
    options = {
        "request_id": "r1",
        "signature": "0" * 64,
        "state": "waiting",
        "expires_at": NOW + 60,
        "items": ("a", "b"),
        "kind": "batch",
    }
    return CallbackAttempt(**(options | changes))


def callback(recorded_attempt, members, **headers):
    body = members if isinstance(members, bytes) else json.dumps({"requestId": "r1", **members}).encode()
    sent = {
        "X-Autotune-Timestamp": str(NOW),
        "X-Autotune-Request-Id": "r1",
        "X-Autotune-Signature": signing.sign(KEY.value, str(NOW), "r1", body),
    } | headers
    return judge(
        recorded_attempt, [KEY], [(name, value) for name, value in sent.items() if value is not None], body, now=NOW
    )


def test_each_part_of_a_batch_is_recorded_and_the_rest_stays_open():
    reply = callback(attempt(), {"scores": [{"completionId": "a", "score": GOOD}, {"completionId": "b", "score": {}}]})
    assert (reply.status, reply.code, reply.key_id_verified) == (200, "recorded", "key_1")
    assert reply.verdicts == {"a": Verdict(0.5, 1.0)}


def test_a_batch_in_which_nothing_is_valid_is_refused():
    for scores in ([], [{"completionId": "c", "score": GOOD}], [{"completionId": "a", "score": {}}]):
        assert callback(attempt(), {"scores": scores}).code == "invalid_result"


def test_the_graders_own_error_is_a_result():
    reply = callback(attempt(kind="score", items=("a",)), {"error": "cannot judge"})
    assert (reply.code, reply.verdicts["a"].code) == ("recorded", "grader_error")


@pytest.mark.parametrize(
    ("state", "reply"),
    [
        ("failed", (409, "result_conflict")),
        ("cancelled", (410, "cancelled")),
        ("sleeping", (200, "recorded")),
        ("pending", (200, "recorded")),
    ],
)
def test_the_state_decides_before_the_body(state, reply):
    body = {"scores": [{"completionId": "a", "score": GOOD}]}
    result = callback(attempt(state=state), body)
    assert (result.status, result.code) == reply


def test_every_cause_of_a_401_has_the_same_response():
    body = {"scores": [{"completionId": "a", "score": GOOD}]}
    for headers in (
        {"X-Autotune-Signature": "f" * 64},
        {"X-Autotune-Signature": None},
        {"X-Autotune-Signature": "zz"},
        {"X-Autotune-Request-Id": "r2"},
        {"X-Autotune-Timestamp": str(NOW - 301)},
    ):
        assert callback(attempt(), body, **headers) is UNAUTHORIZED
