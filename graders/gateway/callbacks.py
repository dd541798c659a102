"""Decide whether to record a callback, given the attempt that the grader answered with 202.

The API endpoint that receives callbacks is in another app.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from autotune.core import strictjson
from graders.gateway import answers, signing
from graders.gateway.types import Kind, SharedSecret
from graders.verdicts import Failure, GraderOptions, Verdict

State = Literal["pending", "running", "sleeping", "waiting", "completed", "failed", "cancelled"]


class CallbackAttempt(Struct, frozen=True):
    """The stored data of the attempt that a callback answers.

    signature             the signature that Autotune sent with the request
    expires_at            seconds since 1970
    recorded_body_sha256  hexadecimal digest of the body whose result is final, None while there is none
    """

    request_id: str
    signature: str
    state: State
    expires_at: float
    items: tuple[str, ...]
    kind: Kind = "score"
    options: GraderOptions = GraderOptions()
    recorded_body_sha256: str | None = None


class CallbackResponse(Struct, frozen=True):
    """The HTTP status and code of the response; if the code is `recorded`, `verdicts` holds what to record."""

    status: int
    code: str
    verdicts: dict[str, Verdict | Failure] = {}
    key_id_verified: str | None = None


UNAUTHORIZED: Final = CallbackResponse(401, "unauthorized")


def judge(
    attempt: CallbackAttempt, secrets: Sequence[SharedSecret], headers: signing.Headers, body: bytes, *, now: float
) -> CallbackResponse:
    """Check a callback's signature, state, deadline and body, in this order. Every cause of a 401 looks the same."""
    try:
        verified = signing.verify_callback(
            secrets, headers, body, request_id=attempt.request_id, sent_signature=attempt.signature, now=now
        )
    except signing.SignatureRefused:
        return UNAUTHORIZED
    if attempt.state == "cancelled":
        return CallbackResponse(410, "cancelled")
    if attempt.state == "completed" or attempt.recorded_body_sha256 is not None:
        is_same_body = hashlib.sha256(body).hexdigest() == attempt.recorded_body_sha256
        return CallbackResponse(409, "already_recorded" if is_same_body else "result_conflict")
    if attempt.state == "failed":
        return CallbackResponse(409, "result_conflict")
    if now > attempt.expires_at:
        return CallbackResponse(410, "expired")
    return _judge_body(attempt, [secret.value for secret in secrets], body, verified.secret.key_id)


def _judge_body(attempt: CallbackAttempt, secrets: Sequence[str], body: bytes, key_id: str) -> CallbackResponse:
    try:
        strictjson.loads(body)
    except strictjson.JSONRefused:
        return CallbackResponse(400, "invalid_json")
    if attempt.kind == "batch":
        results = answers.parse_batch(body, attempt.request_id, attempt.items, attempt.options, secrets)
    else:
        completion_id = attempt.items[0]
        results = {
            completion_id: answers.parse_score(body, attempt.request_id, completion_id, attempt.options, secrets)
        }
    final_results = {item: result for item, result in results.items() if _is_final(result)}
    return (
        CallbackResponse(200, "recorded", final_results, key_id)
        if final_results
        else CallbackResponse(422, "invalid_result")
    )


def _is_final(result: Verdict | Failure) -> bool:
    """Return whether a result is a verdict or the grader's error; the grader may correct and resend any other."""
    return isinstance(result, Verdict) or result.code == "grader_error"
