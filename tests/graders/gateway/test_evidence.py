"""What is kept of a failed call: a run's own part of the answer, redacted before it is shortened."""

import json

import pytest

from autotune.core import ids
from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders.gateway import requests
from graders.gateway.evidence import MAX_HEADERS, CallExchange, callback_evidence
from graders.gateway.texts import MAX_TEXT, redact
from graders.gateway.types import GraderTarget, SharedSecret
from graders.verdicts import GraderItem, GraderOptions

SECRET = SharedSecret("key_new", "atgs_" + "n" * 43)
TARGET = GraderTarget("grader_1", "https://grader.example", (SECRET,))
OWN, OTHER = (ids.encode("comp", ids.new()) for _ in range(2))
BROKEN = {"score": {"value": 2, "confidence": 1}}


def item(completion_id):
    return GraderItem(completion_id, "task_1", "2+2?", "4")


def single(body, status=200, headers=()):
    call = requests.build_score(TARGET, item(OWN), GraderOptions(), 1)
    return CallExchange(call, TARGET, OutboundResponse(status, list(headers), encoded(body), 12.34)).evidence(OWN)


def batch(scores, *, items=(OWN, OTHER), **members):
    call = requests.build_batch(TARGET, [item(pk) for pk in items], GraderOptions(), 1)
    body = {"requestId": call.request_id, "scores": scores, **members}
    exchange = CallExchange(call, TARGET, OutboundResponse(200, [], encoded(body), 12.34))
    return exchange.evidence(OWN)


def encoded(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()


# --- the call -------------------------------------------------------------------------------------------------------


def test_the_call_is_described_by_address_status_headers_and_duration():
    evidence = single(b"Out of memory", 500, [("Content-Type", "text/plain"), ("X-Trace", "private")])
    request_id = evidence.pop("requestId")
    assert len(request_id) == 32
    assert evidence == {
        "url": "https://grader.example/score", "durationMs": 12.3, "items": 1, "status": 500,
        "headers": ["Content-Type", "X-Trace"], "answer": "Out of memory",
    }  # fmt: skip


def test_a_call_without_an_answer_has_no_status():
    call = requests.build_score(TARGET, item(OWN), GraderOptions(), 1)
    evidence = CallExchange(call, TARGET, OutboundError("timeout", "No answer.", 4_000.0)).evidence(OWN)
    assert evidence.keys() == {"url", "requestId", "durationMs", "items"}


def test_names_of_headers_are_cleaned_and_counted():
    evidence = single(b"", 302, [("X-\x1b[31m\u202eRed", "1"), ("\x07", "1"), *[("X" * 300, "1")] * 60])
    assert evidence["headers"][0] == "X- [31m Red"
    assert len(evidence["headers"]) <= MAX_HEADERS
    assert max(map(len, evidence["headers"])) == 64


# --- the answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", ""),
        (b"\xff\xfe not UTF-8", "\ufffd\ufffd not UTF-8"),
        (b"[1, 2]", "[1, 2]"),
        (b'{"score": NaN}', '{"score": NaN}'),
        (b"[" * 50_000, "[" * (MAX_TEXT - 1) + "…"),
        (b"x" * 2_000_000, "x" * (MAX_TEXT - 1) + "…"),
        (b'"\\ud800"', '" "'),
    ],
)
def test_any_answer_to_one_completion_is_kept_as_one_short_line(body, expected):
    assert single(body, 500)["answer"] == expected


def test_of_a_batch_only_the_runs_own_entry_is_kept():
    evidence = batch([{"completionId": OTHER, "error": "private"}, {"completionId": OWN, **BROKEN}])
    assert json.loads(evidence["answer"]) == {"completionId": OWN, **BROKEN}


def test_all_entries_of_the_completion_are_kept_if_there_are_two():
    twice = [{"completionId": OWN, "error": "first"}, {"completionId": OWN, "error": "second"}]
    assert json.loads(batch([*twice, {"completionId": OTHER}])["answer"]) == twice


@pytest.mark.parametrize(
    "scores",
    [
        [], {}, None, "text", [1, [], None],
        [{"completionId": OTHER, "error": "private"}],
        [{"completionId": OWN, "error": f"like {OTHER}"}],
        [{"completionId": [OWN]}],
    ],
)  # fmt: skip
def test_an_answer_without_an_entry_only_about_the_completion_is_left_out(scores):
    evidence = batch(scores)
    assert evidence["omitted"] is True
    assert "answer" not in evidence


@pytest.mark.parametrize("body", [b"a page that may quote any prompt", b'{"error": "private"}', b"[]"])
def test_an_answer_to_several_completions_that_has_no_entries_is_left_out(body):
    call = requests.build_batch(TARGET, [item(OWN), item(OTHER)], GraderOptions(), 1)
    evidence = CallExchange(call, TARGET, OutboundResponse(500, [], body, 1.0)).evidence(OWN)
    assert (evidence["status"], evidence["omitted"], "answer" in evidence) == (500, True, False)


def test_the_answer_to_another_request_is_left_out():
    assert single({"requestId": "req_other", "error": "private"})["omitted"] is True
    assert batch([{"completionId": OWN, "error": "private"}], requestId="req_other")["omitted"] is True


def test_an_answer_that_names_another_completion_is_left_out():
    assert single(f"not found: {OTHER}".encode(), 404)["omitted"] is True


# --- secrets --------------------------------------------------------------------------------------------------------


def test_secrets_are_redacted_before_the_text_is_shortened():
    start = "x" * (MAX_TEXT - 20)
    answer = single(f"{start} {SECRET.value}".encode(), 500)["answer"]
    assert "atgs_" not in answer
    spaced = " " * 8_180 + SECRET.value + " end"
    assert single(spaced.encode(), 500)["answer"] == "[redacted] end"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer SENSITIVE-1", 'headers {"authorization": "Basic SENSITIVE="}',
        '{"detail": "{\\"Authorization\\": \\"Bearer SENSITIVE\\"}"}', "HTTP_COOKIE=sid=SENSITIVE; b=SENSITIVE",
        "got bearer SENSITIVE-SENSITIVE", "api_key=SENSITIVE", "'password': 'SENSITIVE'", "client_secret: SENSITIVE",
        "https://autotune.example/api/v1/callbacks/SENSITIVE-_x", "at_live_SENSITIVE", "whsec_SENSITIVE",
    ],
)  # fmt: skip
def test_values_that_look_like_credentials_are_redacted(text):
    assert "SENSITIVE" not in redact(text)
    assert "[redacted]" in redact(text)


def test_ordinary_text_is_not_redacted():
    text = "The token limit is 5. Authorization failed; basic checks passed. secretary: none"
    assert redact(text) == text


# --- callbacks ------------------------------------------------------------------------------------------------------


def test_a_callback_has_no_address_and_no_status():
    body = encoded({"requestId": "req_1", "scores": [{"completionId": OWN, "error": "no"}, {"completionId": OTHER}]})
    evidence = callback_evidence(body, "req_1", OWN, 2, 900.0, [])
    assert evidence.keys() == {"requestId", "durationMs", "items", "answer"}
    assert json.loads(evidence["answer"]) == {"completionId": OWN, "error": "no"}
