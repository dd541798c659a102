"""Value types of the gateway: targets, calls, and what their answers show."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from autotune.core.outbound.calls import OutboundRequest
from graders.verdicts import Acceptance, Failure, GraderOptions, Verdict

MAX_SCORE_TIMEOUT_MS = 30_000
MAX_BATCH_TIMEOUT_MS = 120_000

Kind = Literal["score", "batch", "health"]


class SharedSecret(Struct, frozen=True):
    """An active shared secret. `value` is the whole string as shown to the grader's owner."""

    key_id: str
    value: str
    current: bool = True

    def __repr__(self) -> str:
        return f"SharedSecret({self.key_id!r}, current={self.current})"


class GraderTarget(Struct, frozen=True):
    """The data that the gateway needs to call an endpoint grader.

    signing   the active secrets, one or two; requests are signed with the first, answers may be with any
    """

    grader_id: str
    base_url: str
    signing: tuple[SharedSecret, ...]
    max_batch_size: int = 1
    timeout_ms: int = 4_000
    batch_timeout_ms: int = 30_000
    connect_timeout_ms: int = 1_000
    supports_dimensions: bool = True
    supports_explanations: bool = True
    pins: tuple[str, ...] = ()

    @property
    def current(self) -> SharedSecret:
        """The newest secret."""
        return next((secret for secret in self.signing if secret.current), self.signing[0])


class CallbackAddress(Struct, frozen=True):
    """The address to which a grader may send a later answer, and the time when it expires."""

    url: str
    expires_at: datetime


class GraderCall(Struct, frozen=True):
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
    key: SharedSecret
    options: GraderOptions = GraderOptions()
    callback: CallbackAddress | None = None


class CallOutcome(Struct, frozen=True):
    """The result of one call.

    verdicts         an entry for every item of the call
    key_id_verified  id of the secret with which the answer verified; None if it did not verify
    clock_skew_s     the grader's clock minus ours; None unless the answer's signature is valid
    """

    verdicts: dict[str, Verdict | Failure | Acceptance]
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


class HealthReport(Struct, frozen=True):
    """A grader's answer to GET /health.

    status  healthy, degraded or unhealthy; Autotune calls a grader with one of the first two
    """

    status: str
    version: str | None = None
    capabilities: Capabilities = Capabilities()


class HealthOutcome(Struct, frozen=True):
    """The result of a health call; see `CallOutcome`."""

    health: HealthReport | Failure
    key_id_verified: str | None
    clock_skew_s: float | None
    latency_ms: float
