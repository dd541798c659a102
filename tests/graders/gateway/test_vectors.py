"""Every published test vector of the grader protocol holds. Those of requests: tests/sdk/test_kit_protocol.py."""

import base64
import json
from pathlib import Path

import pytest

from graders.gateway import answers, callbacks, signing
from graders.gateway.types import SharedSecret
from graders.verdicts import Failure, GraderOptions

VECTORS = json.loads((Path(__file__).resolve().parents[3] / "docs/protocol/vectors.json").read_text())
SECRETS = VECTORS["secrets"]
ASKED = VECTORS["requested"]
BOTH = GraderOptions(include_dimensions=True, include_explanation=True)


def cases(section):
    return pytest.mark.parametrize("case", VECTORS[section], ids=lambda case: case["id"])


def body_of(case):
    if "body_base64" in case:
        return base64.b64decode(case["body_base64"])
    if "body_repeat" in case:
        return bytes.fromhex(case["body_repeat"]["byte_hex"]) * case["body_repeat"]["count"]
    return "".join(part.get("text") or part["repeat"] * part["count"] for part in case["body_parts"]).encode()


def active(case):
    return [SharedSecret(name, SECRETS[name], current=name == "current") for name in case["active_secrets"]]


def headers_of(case):
    return [(name, value) for name, value in case["headers"]]


@cases("signing")
def test_signing(case):
    body = body_of(case)
    assert signing.sign(SECRETS[case["secret"]], case["timestamp"], case["request_id"], body) == case["signature"]


def test_no_common_mistake_is_made():
    mistakes = VECTORS["common_mistakes"]
    case = next(case for case in VECTORS["signing"] if case["id"] == mistakes["for"])
    signature = signing.sign(SECRETS[case["secret"]], case["timestamp"], case["request_id"], body_of(case))
    assert signature not in mistakes.values()


@cases("verify_response")
def test_verify_response(case):
    sent = case["sent"]
    check(case, lambda: signing.verify_response(
        active(case), headers_of(case), body_of(case),
        request_id=sent["request_id"], sent_signature=sent["signature"], now=case["now"],
    ))  # fmt: skip


def check(case, verify):
    if case["expect"] == "accept":
        assert verify().secret.value in SECRETS.values()
        return
    with pytest.raises(signing.SignatureRefused) as caught:
        verify()
    assert caught.value.code == case["reason"]


@cases("verify_callback")
def test_verify_callback(case):
    recorded = case["attempt"]
    attempt = callbacks.CallbackAttempt(
        request_id=recorded["request_id"],
        signature=recorded["request_signature"],
        state=recorded["state"],
        expires_at=recorded["callback_expires_at"],
        items=("comp_01",),
        recorded_body_sha256=recorded["recorded_body_sha256"],
    )
    reply = callbacks.judge(attempt, active(case), headers_of(case), body_of(case), now=case["now"])
    assert (reply.status, reply.code) == (case["expect_status"], case["code"])
    assert bool(reply.verdicts) is (case["code"] == "recorded")


@cases("bodies")
def test_bodies(case):
    body, request_id, items = body_of(case), ASKED["request_id"], ASKED[case["kind"]]
    if case["kind"] == "batch":
        results = answers.parse_batch(body, request_id, items, BOTH)
    else:
        results = {items[0]: answers.parse_score(body, request_id, items[0], BOTH)}
    assert set(results) == set(items)
    if case["expect"] == "reject":
        assert {result.code for result in results.values()} == {case["reason"]}
        return
    recorded = {item: spoken(result) for item, result in results.items() if spoken(result) is not None}
    assert recorded == case["recorded"]
    open_ = [item for item, result in results.items() if spoken(result) is None]
    assert [item for item in open_ if results[item].retryable] == case.get("retried", [])
    assert [item for item in open_ if not results[item].retryable] == case.get("failed", [])


def spoken(result):
    """What is recorded of a result, in the vectors' words; None when nothing is."""
    if not isinstance(result, Failure):
        return result.value
    return {"error": result.message} if result.code == "grader_error" else None


def test_the_rules_in_the_vectors_are_the_rules_in_the_code():
    rules = VECTORS["rules"]
    assert rules["max_skew_seconds"] == signing.MAX_SKEW_S
    assert rules["max_reasoning_characters"] == answers.MAX_REASONING
    assert rules["max_dimensions"] == answers.MAX_DIMENSIONS
    assert rules["weight_tolerance"] == answers.WEIGHT_TOLERANCE
