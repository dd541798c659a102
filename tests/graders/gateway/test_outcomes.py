"""The status table of the protocol: what each answer of a grader comes to."""

import json
from datetime import UTC, datetime

import pytest

from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders.gateway import requests, signing
from graders.gateway.outcomes import interpret, interpret_health
from graders.gateway.types import CallbackAddress, GraderTarget, HealthReport, SharedSecret
from graders.verdicts import Acceptance, GraderItem, GraderOptions, Verdict

CURRENT = SharedSecret("key_new", "atgs_" + "n" * 43, current=True)
PREVIOUS = SharedSecret("key_old", "atgs_" + "o" * 43, current=False)
TARGET = GraderTarget("grdr_1", "https://grader.example", (CURRENT,))
GRACE = GraderTarget("grdr_1", "https://grader.example", (PREVIOUS, CURRENT))
NOW = 1_764_288_000.0
ITEMS = [GraderItem(f"comp_{n}", "task_1", "2+2?", "4") for n in range(3)]


def score_call(target=TARGET, **options):
    return requests.build_score(target, ITEMS[0], GraderOptions(), 1, now=NOW, **options)


def batch_call(count=3):
    return requests.build_batch(TARGET, ITEMS[:count], GraderOptions(), 1, now=NOW)


def answer(
    call, status=200, members=None, *, secret=CURRENT, now=NOW, headers=(), signed=True, media="application/json"
):
    members = {"score": {"value": 0.5, "confidence": 1}} if members is None else members
    body = members if isinstance(members, bytes) else json.dumps({"requestId": call.request_id, **members}).encode()
    all_headers = [*headers]
    if media:
        all_headers.append(("content-type", media))
    if signed:
        all_headers.append(("X-Autotune-Response-Timestamp", str(int(now))))
        all_headers.append(
            ("x-autotune-response-signature", signing.sign(secret.value, str(int(now)), call.request_id, body))
        )
    return OutboundResponse(status, all_headers, body, 12.5)


def failure(call, result, target=TARGET):
    outcome = interpret(call, target, result, NOW)
    assert set(outcome.verdicts) == set(call.items)
    assert len(set(map(repr, outcome.verdicts.values()))) == 1
    return outcome.verdicts[call.items[0]]


# --- answers that count ----------------------------------------------------------------------------------------------


def test_a_good_answer_is_a_verdict():
    call = score_call()
    outcome = interpret(call, TARGET, answer(call, now=NOW + 2), NOW)
    assert outcome.verdicts == {"comp_0": Verdict(0.5, 1.0)}
    assert (outcome.key_id_verified, outcome.clock_skew_s, outcome.latency_ms) == ("key_new", 2.0, 12.5)


def test_a_good_batch_has_an_entry_for_every_item():
    call = batch_call()
    scores = [
        {"completionId": "comp_2", "score": {"value": 1, "confidence": 1}},
        {"completionId": "comp_0", "error": "no"},
    ]
    verdicts = interpret(call, TARGET, answer(call, members={"scores": scores}), NOW).verdicts
    assert verdicts["comp_2"] == Verdict(1.0, 1.0)
    assert [verdicts[item].code for item in ("comp_0", "comp_1")] == ["grader_error", "missing_item"]


def test_either_secret_verifies_in_a_grace_period_and_the_outcome_says_which():
    call = score_call(GRACE)
    assert call.key == PREVIOUS
    for secret in (PREVIOUS, CURRENT):
        assert interpret(call, GRACE, answer(call, secret=secret), NOW).key_id_verified == secret.key_id


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_content_type_may_have_parameters(media):
    call = score_call()
    assert interpret(call, TARGET, answer(call, media=media), NOW).verdicts["comp_0"] == Verdict(0.5, 1.0)


# --- answers that come later -----------------------------------------------------------------------------------------

LATER = CallbackAddress("https://autotune.example/api/v1/callbacks/t", datetime(2026, 12, 5, tzinfo=UTC))
ACCEPTED = {"status": "accepted"}


def later_call(count=1):
    build = requests.build_batch if count > 1 else lambda target, items, *rest, **more: score_call(**more)
    return build(TARGET, ITEMS[:count], GraderOptions(), 1, callback=LATER)


@pytest.mark.parametrize("count", [1, 3])
def test_a_202_accepts_every_item_of_the_call(count):
    call = later_call(count)
    outcome = interpret(call, TARGET, answer(call, 202, ACCEPTED), NOW)
    assert outcome.verdicts == dict.fromkeys(call.items, Acceptance())
    assert outcome.key_id_verified == "key_new"


def test_a_call_that_may_be_answered_later_may_be_answered_at_once():
    call = later_call()
    assert interpret(call, TARGET, answer(call), NOW).verdicts == {"comp_0": Verdict(0.5, 1.0)}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"members": {"status": "done"}}, "not_accepted"),
        ({"members": {}}, "missing_member"),
        ({"members": {"status": 1}}, "wrong_type"),
        ({"members": {"requestId": "another", **ACCEPTED}}, "wrong_request_id"),
        ({"members": b""}, "invalid_json"),
        ({"members": b"{"}, "invalid_json"),
        ({"members": ACCEPTED, "media": "text/plain"}, "wrong_content_type"),
        ({"members": ACCEPTED, "signed": False}, "missing_header"),
        ({"members": ACCEPTED, "secret": PREVIOUS}, "bad_signature"),
        ({"members": ACCEPTED, "now": NOW - 301}, "stale_timestamp"),
    ],
)
def test_an_invalid_202_is_a_failure(options, code):
    call = later_call()
    failed = failure(call, answer(call, 202, **options))
    assert failed.code == code
    assert failed.retryable is (code in {"missing_header", "bad_signature", "stale_timestamp", "wrong_request_id"})


# --- answers that are not believed -----------------------------------------------------------------------------------


def test_a_response_that_does_not_verify_is_retried_once():
    call, other = score_call(), score_call()
    reflected = OutboundResponse(
        200,
        [("X-Autotune-Response-Timestamp", call.timestamp), ("X-Autotune-Response-Signature", call.signature)],
        call.request.body,
        1.0,
    )
    for result, code in [
        (answer(call, signed=False), "missing_header"),
        (answer(call, secret=PREVIOUS), "bad_signature"),
        (answer(other), "bad_signature"),
        (answer(call, now=NOW - 301), "stale_timestamp"),
        (answer(call, members={"requestId": "another", "score": {"value": 1, "confidence": 1}}), "wrong_request_id"),
        (answer(call, 202, signed=False), "missing_header"),
        (OutboundResponse(200, [("Content-Type", "text/html")], b"<html>", 1.0), "missing_header"),
        (reflected, "reflected"),
    ]:
        outcome = failure(call, result)
        assert (outcome.code, outcome.retryable, outcome.limit) == (code, True, 2)


def test_a_wrong_clock_is_named_with_its_skew():
    call = score_call()
    outcome = interpret(call, TARGET, answer(call, now=NOW - 412), NOW)
    assert "412 s behind" in outcome.verdicts["comp_0"].message
    assert (outcome.clock_skew_s, outcome.key_id_verified) == (-412.0, "key_new")
    assert "301 s ahead of" in failure(call, answer(call, now=NOW + 301)).message


@pytest.mark.parametrize(
    ("status", "options", "code"),
    [
        (200, {"members": {"score": {"value": 7, "confidence": 1}}}, "out_of_range"),
        (200, {"members": b"not json"}, "invalid_json"),
        (200, {"media": "text/plain"}, "wrong_content_type"),
        (200, {"media": None}, "wrong_content_type"),
        (202, {"members": {"status": "accepted"}}, "accepted_without_callback"),
        (201, {}, "unexpected_status"),
        (204, {"members": b""}, "unexpected_status"),
        (206, {"signed": False}, "unexpected_status"),
        (301, {}, "redirect_refused"),
        (307, {"signed": False}, "redirect_refused"),
        (401, {"signed": False}, "auth_failed"),
        (403, {}, "auth_failed"),
    ],
)
def test_an_answer_that_another_attempt_would_not_change_fails(status, options, code):
    call = score_call()
    outcome = failure(call, answer(call, status, **options))
    assert (outcome.code, outcome.retryable, outcome.fault) == (code, False, "grader")
    assert outcome.message


# --- other statuses --------------------------------------------------------------------------------------------------


def test_a_signed_refusal_is_final_and_carries_the_graders_text():
    call = score_call()
    outcome = failure(call, answer(call, 422, {"error": "prompt is too long \x07"}))
    assert (outcome.code, outcome.message, outcome.retryable, outcome.trips) == (
        "grader_refused",
        "prompt is too long",
        False,
        False,
    )
    assert "404" in failure(call, answer(call, 404, b"{}")).message


def test_an_unsigned_refusal_is_retried_twice():
    call = score_call()
    for status in (400, 404, 410, 413, 451):
        outcome = failure(call, answer(call, status, b"<html>", signed=False, media="text/html"))
        assert (outcome.code, outcome.retryable, outcome.limit, outcome.gone) == ("unsigned_refusal", True, 3, False)


def test_a_signed_410_means_gone():
    call = score_call()
    outcome = failure(call, answer(call, 410, {"error": "closed"}))
    assert (outcome.code, outcome.gone, outcome.retryable) == ("gone", True, False)


def test_413_splits_a_batch_and_refuses_a_single_item():
    call = batch_call()
    for signed in (True, False):
        outcome = failure(call, answer(call, 413, {}, signed=signed))
        assert (outcome.split, outcome.retryable) == (True, True)
    alone = batch_call(1)
    assert failure(alone, answer(alone, 413, {})).code == "grader_refused"
    assert failure(alone, answer(alone, 413, {}, signed=False)).code == "unsigned_refusal"


@pytest.mark.parametrize("status", [401, 403])
def test_a_401_to_the_previous_secret_is_repeated_with_the_current_one(status):
    call = score_call(GRACE)
    outcome = failure(call, answer(call, status, signed=False), GRACE)
    assert (outcome.code, outcome.resign, outcome.retryable) == ("auth_failed", True, True)
    again = score_call(GRACE, secret=GRACE.current)
    outcome = failure(again, answer(again, status, signed=False), GRACE)
    assert (outcome.code, outcome.resign, outcome.retryable) == ("auth_failed", False, False)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (408, "try_again"),
        (409, "try_again"),
        (425, "try_again"),
        (429, "rate_limited"),
        (500, "grader_unavailable"),
        (503, "grader_unavailable"),
        (520, "grader_unavailable"),
    ],
)
def test_temporary_errors_are_retried(status, code):
    call = score_call()
    outcome = failure(call, answer(call, status, b"<html>", signed=False))
    assert (outcome.code, outcome.retryable, outcome.limit, outcome.retry_after_s) == (code, True, None, None)


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("7", 7.0), ("0", 1.0), ("100000", 300.0), ("9" * 400, 300.0), ("Fri, 28 Nov 2025 00:00:30 GMT", 30.0),
        ("Thu, 27 Nov 2025 00:00:00 GMT", 1.0), ("soon", None), ("-5", None), ("", None), ("1.5", None), ("٣", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_and_bounded(value, wait):
    call = score_call()
    outcome = failure(call, answer(call, 429, b"", signed=False, headers=[("retry-after", value)]))
    assert outcome.retry_after_s == wait


@pytest.mark.parametrize(
    ("code", "retryable"),
    [("timeout", True), ("connection_reset", True), ("malformed_answer", True), ("name_not_resolved", True),
     ("tls_failed", False), ("pin_mismatch", False), ("address_refused", False), ("content_encoding_refused", False), ("body_too_large", False)],
)  # fmt: skip
def test_an_exchange_without_an_answer_keeps_its_code(code, retryable):
    call = batch_call()
    outcome = failure(call, OutboundError(code, "A sentence.", 400.0))
    assert (outcome.code, outcome.retryable, outcome.message, outcome.fault) == (
        code,
        retryable,
        "A sentence.",
        "grader",
    )


def test_the_platforms_own_mistake_is_not_the_graders():
    call = score_call()
    outcome = failure(call, OutboundError("invalid_request", "x"))
    assert (outcome.fault, outcome.trips) == ("platform", False)


def test_the_secret_is_redacted_from_what_the_grader_wrote():
    call = score_call()
    for status, members in ((200, {"error": f"key {CURRENT.value}"}), (400, {"error": f"key {CURRENT.value}"})):
        assert failure(call, answer(call, status, members)).message == "key [redacted]"


# --- health ----------------------------------------------------------------------------------------------------------


def test_an_unsigned_health_response_is_a_failure():
    call = requests.build_health(TARGET, now=NOW)
    body = b'{"status":"healthy","version":"2"}'
    outcome = interpret_health(call, TARGET, answer(call, members=body, now=NOW + 90), NOW)
    assert (outcome.health, outcome.clock_skew_s) == (HealthReport("healthy", "2"), 90.0)
    outcome = interpret_health(call, TARGET, answer(call, members=body, signed=False), NOW)
    assert (outcome.health.code, outcome.key_id_verified) == ("missing_header", None)
    assert interpret_health(call, TARGET, answer(call, 503, body), NOW).health.code == "grader_unavailable"
