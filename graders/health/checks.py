"""Describe the checks of a grader for its owner, and store them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from autotune.core.errors import Conflict, NotFound
from graders import credentials
from graders.gateway.types import GraderTarget, HealthOutcome
from graders.models import Grader, GraderCheck
from graders.verdicts import Failure

HEALTH, CLOCK, CAPABILITIES, SCORE = "health", "clock", "capabilities", "score"
TOLERATED_SKEW_S: Final = 60
MAX_DETAIL: Final = 600


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; `latency_ms` is that of its call, None if it made none."""

    name: str
    passed: bool
    detail: str
    latency_ms: float | None = None
    clock_skew_s: float | None = None


def of_health(outcome: HealthOutcome) -> CheckResult:
    """Return the check that decides from the /health response whether the grader may be called."""
    health = outcome.health
    if isinstance(health, Failure):
        return CheckResult(HEALTH, False, failure_text(health), outcome.latency_ms, outcome.clock_skew_s)
    detail = f"The grader reports that it is {health.status}."
    return CheckResult(HEALTH, health.status != "unhealthy", detail, outcome.latency_ms, outcome.clock_skew_s)


def of_clock(outcome: HealthOutcome) -> CheckResult | None:
    """Return the check of the grader's clock, None without a valid signature.

    A difference of up to 300 s is tolerated; above 60 s the detail warns the owner.
    """
    skew = outcome.clock_skew_s
    if skew is None:
        return None
    if abs(skew) <= TOLERATED_SKEW_S:
        return CheckResult(CLOCK, True, "The grader's clock agrees with Autotune's clock.", clock_skew_s=skew)
    side = "ahead of" if skew > 0 else "behind"
    is_tolerated = not isinstance(outcome.health, Failure)
    return CheckResult(
        CLOCK, is_tolerated, f"The grader's clock is {abs(skew):.0f} s {side} Autotune's. Set it.", clock_skew_s=skew
    )


def failure_text(failure: Failure) -> str:
    """Return a failure's code and message as one text."""
    return f"{failure.code}: {failure.message}"


def locked(grader_id: UUID, target: GraderTarget) -> Grader:
    """Return the checked grader, its row locked until the transaction ends.

    raises  Conflict `changed_meanwhile` if its address or secret changed since the call; NotFound if it was deleted
    """
    grader = Grader.objects.live().select_for_update(no_key=True).filter(pk=grader_id).first()
    if grader is None:
        raise NotFound("There is no such grader.")
    active_key_ids = {secret.key_id for secret in credentials.active_secrets(grader)}
    if grader.endpoint != target.base_url or target.current.key_id not in active_key_ids:
        raise Conflict("The grader's address or secret changed during the call. Try again.", code="changed_meanwhile")
    return grader


def keep(grader: Grader, checks: Iterable[CheckResult]) -> None:
    """Store the checks of a grader."""
    GraderCheck.objects.bulk_create(
        GraderCheck(
            grader=grader,
            name=check.name,
            passed=check.passed,
            detail=check.detail[:MAX_DETAIL],
            latency_ms=check.latency_ms,
            clock_skew_s=check.clock_skew_s,
        )
        for check in checks
    )
