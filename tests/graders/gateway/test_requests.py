"""Requests to graders: their text, their signature, their limits."""

import json
from datetime import UTC, datetime

import pytest
from autotune_sdk.grader import protocol

from autotune.core import ecmajson
from graders.gateway import requests, signing
from graders.gateway.types import CallbackAddress, GraderTarget, SharedSecret
from graders.verdicts import GraderItem, GraderOptions

CURRENT = SharedSecret("key_new", "atgs_" + "n" * 43, current=True)
PREVIOUS = SharedSecret("key_old", "atgs_" + "o" * 43, current=False)
TARGET = GraderTarget("grdr_1", "https://grader.example/v1", (CURRENT,), pins=("sha256//abc=",))
NOW = 1_764_288_000.75


def item(number=1, **changes):
    return GraderItem(
        **({"completion_id": f"comp_{number}", "task_id": "task_1", "prompt": "2+2?", "response": "4"} | changes)
    )


def test_a_score_request_has_the_published_text():
    call = requests.build_score(TARGET, item(), GraderOptions(), 1, now=NOW)
    assert call.request.body.decode() == (
        f'{{"requestId":"{call.request_id}","completion":{{"id":"comp_1","taskId":"task_1","prompt":"2+2?","response":"4",'
        '"metadata":{}},"options":{"includeDimensions":true,"includeExplanation":true}}'
    )
    assert (call.request.method, call.request.url) == ("POST", "https://grader.example/v1/score")
    assert (call.kind, call.items) == ("score", ("comp_1",))


def test_messages_are_sent_beside_the_prompt_and_metadata_is_kept():
    messages = [{"role": "user", "content": "é\n"}]
    call = requests.build_score(
        TARGET, item(messages=messages, metadata={"b": 1.0, "2": 1, "1": None}), GraderOptions(), 1
    )
    text = call.request.body.decode()
    assert (
        '"prompt":"2+2?","messages":[{"role":"user","content":"é\\n"}],"response":"4","metadata":{"1":null,"2":1,"b":1}'
        in text
    )


def test_a_batch_lists_its_items_in_order_without_a_callback():
    call = requests.build_batch(TARGET, [item(2), item(1)], GraderOptions(False, False), 3)
    body = json.loads(call.request.body)
    assert [entry["id"] for entry in body["completions"]] == ["comp_2", "comp_1"] == list(call.items)
    assert set(body) == {"requestId", "completions", "options"}
    assert body["options"] == {"includeDimensions": False, "includeExplanation": False}
    assert call.request.url.endswith("/v1/score/batch")


LATER = CallbackAddress(
    "https://autotune.example/api/v1/callbacks/t0-k_en", datetime(2026, 12, 5, 1, 2, 3, 456789, UTC)
)


def test_a_callback_address_is_the_last_member():
    tail = (
        '"options":{"includeDimensions":true,"includeExplanation":true},'
        '"callbackUrl":"https://autotune.example/api/v1/callbacks/t0-k_en","callbackExpiresAt":"2026-12-05T01:02:03.456Z"}'
    )
    for call in (
        requests.build_score(TARGET, item(), GraderOptions(), 1, callback=LATER),
        requests.build_batch(TARGET, [item()], GraderOptions(), 1, callback=LATER),
    ):
        text = call.request.body.decode()
        assert text.endswith(tail)
        assert ecmajson.dumps(json.loads(text)).decode() == text  # as ECMAScript would write it again
        assert call.callback == LATER
        assert protocol.verify(call.request.headers, call.request.body, [CURRENT.value], now=int(call.timestamp))


def test_a_request_verifies_and_carries_its_hints():
    call = requests.build_score(TARGET, item(), GraderOptions(), 4, now=NOW)
    headers = dict(call.request.headers)
    verified = protocol.verify(call.request.headers, call.request.body, [CURRENT.value], now=NOW)
    assert verified.request_id == call.request_id
    assert headers["X-Autotune-Timestamp"] == call.timestamp == "1764288000"
    assert call.signature == headers["X-Autotune-Signature"]
    assert headers["X-Autotune-Protocol"] == "1"
    assert headers["X-Autotune-Attempt"] == "4"
    assert headers["X-Autotune-Key-Id"] == "key_new"
    assert headers["Content-Type"] == "application/json"


def test_every_attempt_has_a_new_id():
    calls = [requests.build_score(TARGET, item(), GraderOptions(), attempt) for attempt in range(1, 50)]
    assert len({call.request_id for call in calls}) == len({call.signature for call in calls}) == 49


def test_the_first_secret_signs_unless_another_is_given():
    target = GraderTarget("grdr_1", "https://grader.example", (PREVIOUS, CURRENT))
    assert requests.build_score(target, item(), GraderOptions(), 1).key == PREVIOUS
    assert target.current == CURRENT
    assert requests.build_score(target, item(), GraderOptions(), 1, secret=target.current).key == CURRENT


def test_health_is_signed_with_an_empty_body():
    call = requests.build_health(TARGET, now=NOW)
    assert (call.request.method, call.request.body) == ("GET", b"")
    assert signing.sign(CURRENT.value, "1764288000", call.request_id, b"") == call.signature
    assert "Content-Type" not in dict(call.request.headers)


@pytest.mark.parametrize(
    ("build", "timeout_ms", "max_body"),
    [
        (lambda target: requests.build_health(target), 2_000, 64 << 10),
        (lambda target: requests.build_score(target, item(), GraderOptions(), 1), 4_000, 1 << 20),
        (lambda target: requests.build_batch(target, [item()], GraderOptions(), 1), 30_000, 8 << 20),
    ],
)
def test_each_kind_has_its_limits(build, timeout_ms, max_body):
    request = build(TARGET).request
    assert (request.timeout_ms, request.max_body, request.connect_timeout_ms) == (timeout_ms, max_body, 1_000)
    assert (request.max_headers, request.max_header_bytes, request.pins) == (100, 32_768, TARGET.pins)


def test_time_outs_stay_below_the_protocols():
    target = GraderTarget("grdr_1", "https://grader.example", (CURRENT,), timeout_ms=10**6, batch_timeout_ms=10**6)
    assert requests.build_score(target, item(), GraderOptions(), 1).request.timeout_ms == 30_000
    assert requests.build_batch(target, [item()], GraderOptions(), 1).request.timeout_ms == 120_000


@pytest.mark.parametrize("text", ["a" * 1_000, "\x01" * 1_000, "😀" * 1_000, '"' * 1_000])
@pytest.mark.parametrize("metadata", [None, {"k": 1}])
def test_batches_are_split_to_stay_below_the_size(text, metadata):
    items = [item(number, prompt=text, metadata=metadata) for number in range(20)]
    limit = 20_000
    groups = requests.split_by_size(items, limit)
    assert [sent_item for group in groups for sent_item in group] == items
    assert len(groups) > 1
    for group in groups:
        assert len(requests.build_batch(TARGET, group, GraderOptions(), 1).request.body) <= limit


def test_small_batches_stay_whole_and_a_large_item_gets_its_own():
    small = [item(number) for number in range(100)]
    assert requests.split_by_size(small) == [small]
    assert requests.split_by_size([]) == []
    large = item(0, prompt="x" * 5_000)
    assert requests.split_by_size([small[0], large, small[1]], 2_000) == [[small[0]], [large], [small[1]]]


def test_secrets_do_not_show_in_a_repr():
    assert CURRENT.value not in repr(TARGET)
