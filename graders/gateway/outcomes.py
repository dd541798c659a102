"""Turn a grader's HTTP answer into verdicts or failures (docs/protocol/README.md, section 5)."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from autotune.core import clock
from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders.gateway import answers, signing
from graders.gateway.types import CallOutcome, GraderCall, GraderTarget, HealthOutcome, HealthReport, SharedSecret
from graders.verdicts import Acceptance, Failure, Verdict

TWICE: Final = 2  # attempts in all after a bad signature, time or id
THRICE: Final = 3  # attempts in all after an unsigned refusal
RETRY_AFTER_S: Final = (1.0, 300.0)
_TRY_AGAIN: Final = frozenset({408, 409, 425, 429})

_PLATFORM_CODES: Final = frozenset({"invalid_request"})


def interpret(
    call: GraderCall, target: GraderTarget, result: OutboundResponse | OutboundError, now: float | None = None
) -> CallOutcome:
    """Return a verdict or a failure for every item of a score or batch call.

    result  what the outbound engine returned for `call.request`
    now     seconds since 1970 on our clock, for the check of the answer's time
    """
    reading = _Reading(call, target, result, now)
    answer: dict[str, Verdict | Failure] | Failure | Acceptance
    if reading.failure is not None:
        answer = reading.failure
    elif isinstance(result, OutboundResponse) and result.status == 202:
        answer = answers.parse_accepted(reading.body, call.request_id)
    else:
        body = reading.body
        secrets = [secret.value for secret in target.signing]
        if call.kind == "batch":
            answer = answers.parse_batch(body, call.request_id, call.items, call.options, secrets)
        else:
            completion_id = call.items[0]
            answer = {completion_id: answers.parse_score(body, call.request_id, completion_id, call.options, secrets)}
    verdicts: dict[str, Verdict | Failure | Acceptance] = {}
    if isinstance(answer, Failure | Acceptance):
        verdicts.update(dict.fromkeys(call.items, answer))
    else:
        verdicts.update(answer)
    return CallOutcome(verdicts, reading.key_id, reading.skew_s, result.elapsed_ms)


def interpret_health(
    call: GraderCall, target: GraderTarget, result: OutboundResponse | OutboundError, now: float | None = None
) -> HealthOutcome:
    """Return the outcome of a health call; an answer without a valid signature is a failure."""
    reading = _Reading(call, target, result, now)
    health: HealthReport | Failure = (
        reading.failure if reading.failure is not None else answers.parse_health(reading.body)
    )
    return HealthOutcome(health, reading.key_id, reading.skew_s, result.elapsed_ms)


class _Reading:
    """An answer whose status and signature are checked: either `failure` is set, or `body` is authentic."""

    __slots__ = ("_call", "_target", "body", "failure", "key_id", "skew_s")

    def __init__(
        self, call: GraderCall, target: GraderTarget, result: OutboundResponse | OutboundError, now: float | None
    ) -> None:
        self._call = call
        self._target = target
        self.key_id: str | None = None
        self.skew_s: float | None = None
        self.body = b""
        self.failure: Failure | None
        if isinstance(result, OutboundError):
            is_platform_fault = result.code in _PLATFORM_CODES
            self.failure = Failure(
                result.code,
                result.message,
                retryable=result.retryable,
                trips=not is_platform_fault,
                fault="platform" if is_platform_fault else "grader",
            )
            return
        self.failure = self._judge(result, clock.shared_time() if now is None else now)
        if self.failure is None:
            self.body = result.body

    def _judge(self, result: OutboundResponse, now: float) -> Failure | None:
        status = result.status
        if status == 200 or status == 202:
            return self._judge_answer(result, now)
        if status < 300:
            return Failure("unexpected_status", f"The grader answered {status}. It must send a result with 200.")
        if status < 400:
            return Failure(
                "redirect_refused",
                f"The grader answered {status}, a redirect. Register the final URL: Autotune follows no redirects.",
            )
        if status in (401, 403):
            return self._judge_unauthorized(status)
        if status >= 500 or status in _TRY_AGAIN:
            return _try_again(result, now)
        return self._judge_refusal(result, now)

    def _judge_answer(self, result: OutboundResponse, now: float) -> Failure | None:
        refusal = self._verify(result, now)
        if refusal is not None:
            return Failure(refusal.code, refusal.message, retryable=True, limit=TWICE)
        if (media := _media_type(result)) != "application/json":
            problem = f"is {media}" if media else "is missing"
            return Failure(
                "wrong_content_type", f"The answer's Content-Type {problem[:120]}; it must be application/json."
            )
        if result.status == 202 and self._call.callback is None:
            return Failure(
                "accepted_without_callback",
                "The grader answered 202, but this request carried no callbackUrl. Answer 200 with the result.",
            )
        return None

    def _judge_unauthorized(self, status: int) -> Failure:
        current: SharedSecret = self._target.current
        if current.key_id != self._call.key.key_id:
            return Failure(
                "auth_failed",
                f"The grader answered {status} to the previous secret. Autotune repeats the call with the current one.",
                retryable=True,
                resign=True,
                trips=False,
            )
        return Failure(
            "auth_failed",
            f"The grader answered {status}: it does not accept the platform's signature. "
            "Check its shared secret and its clock, and that it verifies the exact bytes of the body.",
        )

    def _judge_refusal(self, result: OutboundResponse, now: float) -> Failure:
        """Return the failure for a 4xx that the retry table does not list."""
        status = result.status
        if status == 413 and len(self._call.items) > 1:
            return Failure(
                "request_too_large",
                f"The grader answered 413 to {len(self._call.items)} items. Autotune sends them again in halves.",
                retryable=True,
                split=True,
                trips=False,
            )
        if self._verify(result, now) is not None:
            return Failure(
                "unsigned_refusal",
                f"The grader's address answered {status} without a valid signature, as a proxy would. "
                "Check the registered URL.",
                retryable=True,
                limit=THRICE,
                retry_after_s=_retry_after(result, now),
            )
        error_text = answers.error_text(result.body, [secret.value for secret in self._target.signing])
        if status == 410:
            return Failure("gone", error_text or "The grader answered 410: it is no longer in service.", gone=True)
        return Failure("grader_refused", error_text or f"The grader refused the request with {status}.", trips=False)

    def _verify(self, result: OutboundResponse, now: float) -> signing.SignatureRefused | None:
        """Check the answer's signature; note the secret that verified and the grader's clock."""
        call = self._call
        try:
            verified = signing.verify_response(
                self._target.signing,
                result.headers,
                result.body,
                request_id=call.request_id,
                sent_signature=call.signature,
                now=now,
            )
        except signing.SignatureRefused as refusal:
            self.skew_s = refusal.skew_s
            self.key_id = refusal.secret.key_id if refusal.secret else None
            return refusal
        self.key_id = verified.secret.key_id
        self.skew_s = verified.skew_s
        return None


def _try_again(result: OutboundResponse, now: float) -> Failure:
    status = result.status
    if status == 429:
        code, message = "rate_limited", "The grader answered 429: it received too many calls."
    elif status >= 500:
        code, message = "grader_unavailable", f"The grader, or a proxy in front of it, answered {status}."
    else:
        code, message = "try_again", f"The grader answered {status}: it asks for another attempt."
    return Failure(code, message, retryable=True, retry_after_s=_retry_after(result, now))


def _retry_after(result: OutboundResponse, now: float) -> float | None:
    """Return the seconds that Retry-After asks to wait, limited to RETRY_AFTER_S; None without a usable value."""
    value = (result.header("Retry-After") or "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        wait = float(value[:9])
    else:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        wait = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - now
    return min(max(wait, RETRY_AFTER_S[0]), RETRY_AFTER_S[1])


def _media_type(result: OutboundResponse) -> str:
    return (result.header("Content-Type") or "").partition(";")[0].strip().lower()
