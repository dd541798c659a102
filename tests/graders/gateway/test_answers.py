"""Reading grader responses beyond the published vectors."""

import json

import pytest

from graders.gateway import answers
from graders.gateway.types import Capabilities, HealthReport
from graders.verdicts import Failure, GraderOptions, Verdict

ALL, NONE = GraderOptions(), GraderOptions(False, False)


def score(options=ALL, secrets=(), **members):
    body = json.dumps({"requestId": "r1", **members}).encode()
    return answers.parse_score(body, "r1", "comp_1", options, secrets)


def full(**changes):
    return {"value": 0.5, "confidence": 1} | changes


def test_a_verdict_keeps_requested_dimensions_and_reasoning():
    dims = [{"name": "style", "value": 0.5, "weight": 1, "extra": 1}]
    verdict = score(score=full(dimensions=dims, reasoning="because\nof it"))
    assert verdict.dimensions[0].name == "style"
    assert verdict.reasoning == "because\nof it"
    assert score(NONE, score=full(dimensions=dims, reasoning="x")) == Verdict(0.5, 1.0)


def test_c21_the_error_and_its_location_are_two_sentences():
    failure = score(error="it failed\x00")
    assert failure.message == (
        "The answer is not acceptable JSON: The text holds U+0000, which cannot be stored. At /error."
    )
    odd = score(score=full(**{"a/b\u2028c": "\ud800"}))
    assert odd.message.endswith("which cannot be stored. At /score/a~1b c.")
    assert score(score=[], **{"x" * 300: "\x00"}).message.endswith(("…", "."))


def test_null_and_empty_extras_are_no_extras():
    assert score(score=full(dimensions=None, reasoning=None)) == Verdict(0.5, 1.0)
    assert score(score=full(dimensions=[])).dimensions == ()


@pytest.mark.parametrize(
    ("weights", "warned"),
    [((0.5, 0.4), True), ((1, 1, 1), True), ((0.333,) * 3, False), ((0.1,) * 10, False), ((), False)],
)
def test_weights_that_do_not_sum_to_one_are_a_warning(weights, warned):
    dims = [{"name": f"d{n}", "value": 1, "weight": weight} for n, weight in enumerate(weights)]
    assert bool(score(score=full(dimensions=dims)).warnings) is warned


@pytest.mark.parametrize(
    ("dimension", "code", "place"),
    [
        (1, "wrong_type", "/score/dimensions/1 "),
        ({"value": 1, "weight": 1}, "missing_member", "/score/dimensions/1/name"),
        ({"name": "", "value": 1, "weight": 1}, "out_of_range", "/score/dimensions/1/name"),
        ({"name": "x" * 65, "value": 1, "weight": 1}, "too_long", "/score/dimensions/1/name"),
        ({"name": "x", "weight": 1}, "missing_member", "/score/dimensions/1/value"),
        ({"name": "x", "value": 1, "weight": True}, "wrong_type", "/score/dimensions/1/weight"),
        ({"name": "e\u0301", "value": 1, "weight": 0}, "duplicate_dimension", "/score/dimensions/1/name"),
    ],
)
def test_a_bad_dimension_is_named(dimension, code, place):
    failure = score(score=full(dimensions=[{"name": "\u00e9", "value": 1, "weight": 1}, dimension]))
    assert (failure.code, failure.retryable) == (code, False)
    assert place in failure.message


def test_an_invalid_dimension_that_was_not_requested_is_ignored():
    assert score(NONE, score=full(dimensions=7, reasoning=7)) == Verdict(0.5, 1.0)


@pytest.mark.parametrize(
    ("error", "code"),
    [("", "grader_error"), ([], "wrong_type"), (False, "wrong_type"), ({}, "wrong_type"), (0, "wrong_type")],
)
def test_an_error_is_a_string_and_an_empty_one_counts(error, code):
    failure = score(error=error, score=full())
    assert failure.code == code
    assert failure.message


def test_an_error_is_no_failure_of_the_circuit():
    assert score(error="no reference").trips is False
    assert score(score=full(value=2)).trips is True


def test_the_text_of_an_error_is_short_plain_and_without_secrets():
    secret = "s" * 48
    error_text = f"bad\x1b[31m key {secret} or atgs_{'k' * 43}\r\nforged log line \u202e" + "x" * 2_000
    message = score(secrets=[secret], error=error_text).message
    assert len(message) == 500
    assert message.startswith("bad [31m key [redacted] or [redacted] forged log line x")
    assert message.endswith("…")


def test_a_response_to_another_request_is_retried_once():
    failure = answers.parse_score(b'{"requestId":"r2","score":{"value":1,"confidence":1}}', "r1", "comp_1", ALL)
    assert (failure.code, failure.retryable, failure.limit) == ("wrong_request_id", True, 2)


def batch(scores, ids=("a", "b")):
    return answers.parse_batch(json.dumps({"requestId": "r1", "scores": scores}).encode(), "r1", ids, ALL)


def test_items_of_a_batch_are_judged_independently():
    results = batch([{"completionId": "b", "score": full(value="1")}, {"completionId": "a", "score": full()}])
    assert results["a"] == Verdict(0.5, 1.0)
    assert results["b"].code == "wrong_type"
    assert "/scores/0/score/value" in results["b"].message


@pytest.mark.parametrize(
    ("scores", "code"),
    [
        ({}, "wrong_type"),
        (None, "wrong_type"),
        ([{"score": full()}], "missing_member"),
        ([{"completionId": 1, "score": full()}], "wrong_type"),
        ([{"completionId": "a", "score": full()}, {"completionId": "c", "score": full()}], "unknown_item"),
        ([{"completionId": "a", "score": full()}, {"completionId": "a", "error": "x"}], "duplicate_item"),
    ],
)
def test_a_batch_that_cannot_be_matched_fails_entirely(scores, code):
    results = batch(scores)
    assert [results[item].code for item in ("a", "b")] == [code, code]


def test_a_missing_item_is_requested_again():
    assert batch([{"completionId": "a", "score": full()}])["b"] == answers._NOT_ANSWERED
    assert answers._NOT_ANSWERED.retryable


@pytest.mark.parametrize("depth", [33, 100_000])
def test_deep_answers_are_refused(depth):
    body = b'{"requestId":"r1","x":' + b"[" * depth + b"]" * depth + b"}"
    assert answers.parse_score(body, "r1", "comp_1", ALL).code == "too_deep"


# --- health ----------------------------------------------------------------------------------------------------------


def health(**members):
    return answers.parse_health(json.dumps(members).encode())


def test_health_says_what_the_grader_can_do():
    report = health(
        status="healthy", version="1.4.0", more=1,
        capabilities={"maxBatchSize": 100, "supportsDimensions": True, "supportsExplanations": False,
                      "supportsAsync": False, "avgLatencyMs": 80, "domains": ["code", "x" * 99], "other": 1},
    )  # fmt: skip
    assert report == HealthReport(
        "healthy", "1.4.0", Capabilities(100, True, False, False, 80.0, ("code", "x" * 63 + "…"))
    )


def test_health_needs_only_a_status():
    assert health(status="degraded") == HealthReport("degraded")
    assert health(status="unhealthy", version=None, capabilities=None) == HealthReport("unhealthy")


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({}, "missing_member"),
        ({"status": 1}, "wrong_type"),
        ({"status": "ok"}, "out_of_range"),
        ({"status": "healthy", "version": 2}, "wrong_type"),
        ({"status": "healthy", "version": "x" * 65}, "too_long"),
        ({"status": "healthy", "capabilities": []}, "wrong_type"),
        ({"status": "healthy", "capabilities": {"maxBatchSize": 0}}, "out_of_range"),
        ({"status": "healthy", "capabilities": {"maxBatchSize": 1001}}, "out_of_range"),
        ({"status": "healthy", "capabilities": {"maxBatchSize": True}}, "wrong_type"),
        ({"status": "healthy", "capabilities": {"supportsAsync": 1}}, "wrong_type"),
        ({"status": "healthy", "capabilities": {"domains": "code"}}, "wrong_type"),
    ],
)
def test_a_malformed_health_answer_is_a_failure(members, code):
    result = health(**members)
    assert isinstance(result, Failure)
    assert result.code == code
