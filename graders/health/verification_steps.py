"""Verify a grader in two HTTP requests, so that a page shows the result of /health while /score is in progress.

A signed ticket carries the results of the first step to the second, so any process can take the second step, and
nothing is stored of a verification that stops after the first. A ticket allows what a whole verification does: one
sample.
"""

from typing import Any, Final

from django.core import signing

from autotune.core.connections import release
from graders import targets
from graders.gateway.types import GraderTarget, HealthReport
from graders.health import verification
from graders.health.checks import CheckResult
from graders.health.verification import VerificationResult
from graders.models import Grader

TICKET_FOR_S: Final = 60


def begin(grader: Grader) -> tuple[VerificationResult, str]:
    """Call /health; return the result and the ticket for the next step. If the ticket is '', verification has ended.

    raises  as verification.verify
    """
    target = targets.load(grader)
    release()
    result, may_score = verification.begin(grader, target)
    if may_score:
        return result, signing.dumps(_plain(result), salt=_salt(grader, target), compress=True)
    verification.settle(grader, target, result)
    return result, ""


def go_on(grader: Grader, ticket: str) -> VerificationResult:
    """Finish the verification whose first step the ticket holds; without a valid ticket, start over.

    raises  as verification.verify
    """
    target = targets.load(grader)
    release()
    try:
        first_step = _result(signing.loads(ticket, salt=_salt(grader, target), max_age=TICKET_FOR_S))
    except signing.BadSignature:
        result = verification.run(grader, target)
    else:
        result = verification.finish(target, first_step)
    verification.settle(grader, target, result)
    return result


def _salt(grader: Grader, target: GraderTarget) -> str:
    """Return a salt that makes a ticket valid only for this grader, at this address, with this secret."""
    return f"graders.verifying.{grader.pk}.{target.current.key_id}.{target.base_url}"


def _plain(result: VerificationResult) -> dict[str, Any]:
    assert result.health is not None  # else it would not go on
    checks = [[check.name, check.passed, check.detail, check.latency_ms, check.clock_skew_s] for check in result.checks]
    return {"checks": checks, "health": [result.health.status, result.health.version], "keys": sorted(result.key_ids)}


def _result(plain: dict[str, Any]) -> VerificationResult:
    return VerificationResult(
        tuple(CheckResult(*row) for row in plain["checks"]), HealthReport(*plain["health"]), frozenset(plain["keys"])
    )
