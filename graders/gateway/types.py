"""Value types of the gateway: targets, items, calls, verdicts, failures and outcomes."""

from datetime import datetime
from math import isfinite
from typing import Any, Literal

from msgspec import Struct

from autotune.core.outbound.calls import OutboundRequest

MAX_SCORE_TIMEOUT_MS = 30_000
MAX_BATCH_TIMEOUT_MS = 120_000

Kind = Literal["score", "batch", "health"]
Fault = Literal["grader", "caller", "platform"]


class Secret(Struct, frozen=True):
    """An active shared secret. `value` is the whole string as shown to the grader's owner."""

    key_id: str
    value: str
    current: bool = True

    def __repr__(self) -> str:
        return f"Secret({self.key_id!r}, current={self.current})"


class GraderTarget(Struct, frozen=True):
    """The data that the gateway needs to call an endpoint grader.

    signing   the active secrets, one or two; requests are signed with the first, answers may be with any
    """

    grader_id: str
    base_url: str
    signing: tuple[Secret, ...]
    max_batch_size: int = 1
    timeout_ms: int = 4_000
    batch_timeout_ms: int = 30_000
    connect_timeout_ms: int = 1_000
    supports_dimensions: bool = True
    supports_explanations: bool = True
    pins: tuple[str, ...] = ()

    @property
    def current(self) -> Secret:
        """The newest secret."""
        return next((secret for secret in self.signing if secret.current), self.signing[0])


class Item(Struct, frozen=True):
    """One completion as a grader sees it: plain text, `messages` as JSON objects and `metadata` as a JSON object.

    system_prompt  the task's; None if the task has none, or the conversation has its own system message
    """

    completion_id: str
    task_id: str
    prompt: str
    response: str
    messages: list[Any] | None = None
    metadata: dict[str, Any] | None = None
    system_prompt: str | None = None


class Options(Struct, frozen=True):
    include_dimensions: bool = True
    include_explanation: bool = True


class CallbackAddress(Struct, frozen=True):
    """The address to which a grader may send a later answer, and the time when it expires."""

    url: str
    expires_at: datetime


class Call(Struct, frozen=True):
    """One signed attempt, ready to send.

    request_id  new for every attempt; `timestamp` and `signature` as sent
    items       ids of the completions to score, in order; empty for a health call
    key         the secret that signed it
    callback    where the grader may answer later; None: it must answer at once
    """

    request: OutboundRequest
    request_id: str
    timestamp: str
    signature: str
    items: tuple[str, ...]
    kind: Kind
    key: Secret
    options: Options = Options()
    callback: CallbackAddress | None = None


class Dimension(Struct, frozen=True):
    name: str
    value: float
    weight: float


class Verdict(Struct, frozen=True):
    """A grader's judgement of one completion. Value and confidence are from 0 to 1.

    raw_value  on the grader version's scale, a finite number; None if it follows from `value`
    details    what a hosted grader records beside its reasoning: JSON
    raises     ValueError for a raw value that is not finite
    """

    value: float
    confidence: float
    dimensions: tuple[Dimension, ...] | None = None
    reasoning: str | None = None
    warnings: tuple[str, ...] = ()
    raw_value: float | None = None
    details: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.raw_value is not None and not isfinite(self.raw_value):
            raise ValueError(f"The raw value {self.raw_value} must be a finite number.")


class Failure(Struct, frozen=True):
    """Why there is no verdict, in a code and a sentence that a grader owner can act on.

    retryable      another attempt may help
    limit          how many attempts of one run may end with this code; None: the task's retry policy decides
    retry_after_s  the wait that the grader asked for, 1 to 300 seconds
    split          send the items again in halves (413 to several items)
    resign         repeat the call once, immediately, signed with the current secret
    gone           a signed 410: the grader wants no more calls
    trips          counts as a failure for the circuit breaker
    fault          who is responsible
    """

    code: str
    message: str
    retryable: bool = False
    limit: int | None = None
    retry_after_s: float | None = None
    split: bool = False
    resign: bool = False
    gone: bool = False
    trips: bool = True
    fault: Fault = "grader"


class Accepted(Struct, frozen=True):
    """A signed 202: the grader will call back."""


class Outcome(Struct, frozen=True):
    """The result of one call.

    verdicts         an entry for every item of the call
    key_id_verified  id of the secret with which the answer verified; None if it did not verify
    clock_skew_s     the grader's clock minus ours; None unless the answer's signature is valid
    """

    verdicts: dict[str, Verdict | Failure | Accepted]
    key_id_verified: str | None
    clock_skew_s: float | None
    latency_ms: float


class Capabilities(Struct, frozen=True):
    """The capabilities that a grader reports of itself; None for those that it does not report."""

    max_batch_size: int | None = None
    supports_dimensions: bool | None = None
    supports_explanations: bool | None = None
    supports_async: bool | None = None
    avg_latency_ms: float | None = None
    domains: tuple[str, ...] | None = None


class Health(Struct, frozen=True):
    """A grader's answer to GET /health.

    status  healthy, degraded or unhealthy; Autotune calls a grader with one of the first two
    """

    status: str
    version: str | None = None
    capabilities: Capabilities = Capabilities()


class HealthOutcome(Struct, frozen=True):
    """The result of a health call; see `Outcome`."""

    health: Health | Failure
    key_id_verified: str | None
    clock_skew_s: float | None
    latency_ms: float
