"""Build the signed request of one try, and interpret its result."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autotune.core import clock
from autotune.core.outbound.calls import OutboundError, OutboundRequest, OutboundResponse, Result
from autotune.webhooks.delivery import signing
from autotune.webhooks.delivery.backoff import retry_after
from autotune.webhooks.delivery.claims import DeliveryTry
from autotune.webhooks.states import EventKind

TIMEOUT_MS: Final = 10_000
CONNECT_TIMEOUT_MS: Final = 5_000
MAX_ANSWER: Final = 1 << 20
EXCERPT: Final = 500
GONE: Final = 410
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The outcome of a try.

    status          of the answer; None without an answer: then `error` has the reason
    requested_wait  the wait that the endpoint requested
    final           whether no other try can succeed
    """

    trial: DeliveryTry
    at: datetime
    delivered: bool
    latency_ms: float
    status: int | None = None
    error: str = ""
    excerpt: str | None = None
    requested_wait: timedelta | None = None
    final: bool = False

    @property
    def gone(self) -> bool:
        return self.status == GONE


def request(trial: DeliveryTry) -> OutboundRequest:
    """Return the request of a try. All tries share id and body; each has its own time, and so its own signature."""
    body = trial.body or b""
    return OutboundRequest(
        "POST",
        trial.url,
        signing.headers(trial.secrets, trial.message_id, int(clock.shared_time()), body),
        body,
        connect_timeout_ms=CONNECT_TIMEOUT_MS,
        timeout_ms=TIMEOUT_MS,
        max_body=MAX_ANSWER,
    )


def outcome(trial: DeliveryTry, result: Result, at: datetime) -> DeliveryOutcome:
    """Return the outcome of an exchange: any 2xx is a delivery, everything else is a failure."""
    if isinstance(result, OutboundError):
        return DeliveryOutcome(trial, at, False, result.elapsed_ms, error=result.message)
    good = 200 <= result.status < 300
    return DeliveryOutcome(
        trial,
        at,
        good,
        result.elapsed_ms,
        status=result.status,
        error="" if good else _complaint(result),
        # A test must not be a way to read what other servers answer.
        excerpt=None if trial.kind == EventKind.TEST else excerpt(result.body),
        requested_wait=None if good else retry_after(result.header("Retry-After"), at),
    )


def unreadable(trial: DeliveryTry, at: datetime) -> DeliveryOutcome:
    """Return the outcome of a try that cannot be made."""
    return DeliveryOutcome(trial, at, False, 0.0, error="The event cannot be read any more.", final=True)


def excerpt(body: bytes) -> str:
    """Return the beginning of an answer as one line of text, without control characters."""
    text = body[: EXCERPT * 4].decode("utf-8", "replace")
    return _CONTROLS.sub(" ", text).strip()[:EXCERPT]


def _complaint(answer: OutboundResponse) -> str:
    if 300 <= answer.status < 400:
        return f"The endpoint answered {answer.status}; redirects are not followed."
    return f"The endpoint answered {answer.status}."
