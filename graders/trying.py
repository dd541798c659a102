"""The try-it console: send one sample to a grader through the real gateway, and show the request and the answer.

Nothing is stored: no score, no tally, no status change. Secrets are removed from the grader's answer.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import Meta

from autotune.access.principal import Principal
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Rate
from autotune.core import clock, ids
from autotune.core.api.operations import BodyStruct
from autotune.core.connections import release
from autotune.core.errors import TooManyRequests
from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundError, OutboundResponse, Result
from graders import targets
from graders.gateway import outcomes, requests, signing
from graders.gateway.signing import SignatureRefused
from graders.gateway.types import CallOutcome, GraderCall, GraderTarget, SharedSecret
from graders.models import Grader
from graders.verdicts import Acceptance, Failure, GraderItem, GraderOptions, Verdict

MAX_TEXT: Final = 100_000
MAX_SHOWN: Final = 20_000
A_MINUTE: Final = Rate(per_minute=20, burst=5)
REDACTED: Final = "[redacted]"
NOT_AN_ANSWER: Final = "The grader did not answer, so there is no signature."

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]


class SampleIn(BodyStruct):
    """One completion to judge, as a task would send it. `systemPrompt` is the task's."""

    prompt: Text
    response: Text
    metadata: dict[str, Any] | None = None
    system_prompt: Text | None = None


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """The request as Autotune sent it. Its signature is valid only for this message; it does not show the secret."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    key_id: str


@dataclass(frozen=True, slots=True)
class SampleResponse:
    """The grader's answer. `status` is None if there was none.

    verified_with  the id of the secret with which the answer's signature is valid; None if it is not valid
    refused        why it is not valid: a code and a sentence
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    body: str
    latency_ms: float
    clock_skew_s: float | None
    verified_with: str | None
    refused: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The result of one sample. Either `verdict` or `failure` is set.

    repeated  the grader rejected a first call, signed with the previous secret; this one has the current one
    """

    sent: SampleRequest
    answer: SampleResponse
    verdict: Verdict | None
    failure: Failure | None
    repeated: bool = False


def send(principal: Principal, grader: Grader, sample: SampleIn) -> SampleResult:
    """Send one sample to a grader and wait for its answer, up to the grader's timeout.

    raises  TooManyRequests, Conflict `no_secret`
    """
    _count(principal, grader)
    target = targets.load(grader)
    release()  # a grader that hangs must not hold a connection of the pool
    item = GraderItem(
        ids.encode("comp", ids.new()), ids.encode("task", ids.new()), sample.prompt, sample.response,
        metadata=sample.metadata, system_prompt=sample.system_prompt,
    )  # fmt: skip
    options = GraderOptions(grader.supports_dimensions, grader.supports_explanations)
    call, result, outcome = _ask(target, item, options, None)
    judgement = outcome.verdicts[item.completion_id]
    if repeated := isinstance(judgement, Failure) and judgement.resign:
        call, result, outcome = _ask(target, item, options, target.current)
        judgement = outcome.verdicts[item.completion_id]
    assert not isinstance(judgement, Acceptance)  # a 202 is a failure, since the sample is asked for without a callback
    verdict, failure = (judgement, None) if isinstance(judgement, Verdict) else (None, judgement)
    return SampleResult(_sent(call), _answer(call, target, result, outcome), verdict, failure, repeated)


def _count(principal: Principal, grader: Grader) -> None:
    """Limit how often a person can try a grader, so that nobody floods its server through Autotune."""
    allowance = rates.check(f"try:{principal.user.pk}:{grader.pk}", A_MINUTE)
    if not allowance.admitted:
        raise TooManyRequests(
            f"You can try a grader {A_MINUTE.per_minute} times a minute. Try again in {allowance.retry_after_s} s.",
            headers={"Retry-After": str(allowance.retry_after_s)},
        )


def _ask(
    target: GraderTarget, item: GraderItem, options: GraderOptions, secret: SharedSecret | None
) -> tuple[GraderCall, Result, CallOutcome]:
    call = requests.build_score(target, item, options, 1, secret=secret)
    result: Result
    try:
        result = engine.fetch(call.request)
    except OutboundError as exc:
        result = exc
    return call, result, outcomes.interpret(call, target, result)


def _sent(call: GraderCall) -> SampleRequest:
    request = call.request
    return SampleRequest(request.method, request.url, tuple(request.headers), request.body.decode(), call.key.key_id)


def _answer(call: GraderCall, target: GraderTarget, result: Result, outcome: CallOutcome) -> SampleResponse:
    if isinstance(result, OutboundError):
        refused = (result.code, NOT_AN_ANSWER)
        return SampleResponse(None, (), "", result.elapsed_ms, None, None, refused)
    verified_with, refused_with = _signature(call, target, result)
    return SampleResponse(
        result.status,
        tuple((name, _without_secrets(value, target)) for name, value in result.headers),
        _without_secrets(result.body[:MAX_SHOWN].decode("utf-8", "replace"), target),
        result.elapsed_ms,
        outcome.clock_skew_s,
        verified_with,
        refused_with,
    )


def _signature(
    call: GraderCall, target: GraderTarget, result: OutboundResponse
) -> tuple[str | None, tuple[str, str] | None]:
    """Check an answer's signature, even if its status decides the outcome."""
    try:
        verified = signing.verify_response(
            target.signing, result.headers, result.body, request_id=call.request_id, sent_signature=call.signature,
            now=clock.shared_time(),
        )  # fmt: skip
    except SignatureRefused as refusal:
        return None, (refusal.code, refusal.message)
    return verified.secret.key_id, None


def _without_secrets(text: str, target: GraderTarget) -> str:
    for secret in target.signing:
        text = text.replace(secret.value, REDACTED)
    return text
