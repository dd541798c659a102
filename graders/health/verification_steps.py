"""Verify a grader in two HTTP requests, so that a page shows the result of /health while /score is in progress.

A signed ticket carries the results of the first step to the second, so any process can take the second step, and
nothing is stored of a verification that stops after the first. A ticket allows what a whole verification does: one
sample.
"""

from typing import Any, Final

from django.core import signing

from autotune.core.connections import release
from graders import targets
from graders.gateway.types import GraderTarget, Health
from graders.health import verification
from graders.health.checks import Check
from graders.health.verification import Probe
from graders.models import Grader

TICKET_FOR_S: Final = 60


def begin(grader: Grader) -> tuple[Probe, str]:
    """Call /health; return the probe and the ticket for the next step. If the ticket is '', verification has ended.

    raises  as verification.verify
    """
    target = targets.load(grader)
    release()
    probe, may_score = verification.begin(grader, target)
    if may_score:
        return probe, signing.dumps(_plain(probe), salt=_salt(grader, target), compress=True)
    verification.settle(grader, target, probe)
    return probe, ""


def go_on(grader: Grader, ticket: str) -> Probe:
    """Finish the verification whose first step the ticket holds; without a valid ticket, start over.

    raises  as verification.verify
    """
    target = targets.load(grader)
    release()
    try:
        first_step = _probe(signing.loads(ticket, salt=_salt(grader, target), max_age=TICKET_FOR_S))
    except signing.BadSignature:
        probe = verification.run(grader, target)
    else:
        probe = verification.finish(target, first_step)
    verification.settle(grader, target, probe)
    return probe


def _salt(grader: Grader, target: GraderTarget) -> str:
    """Return a salt that makes a ticket valid only for this grader, at this address, with this secret."""
    return f"graders.verifying.{grader.pk}.{target.current.key_id}.{target.base_url}"


def _plain(probe: Probe) -> dict[str, Any]:
    assert probe.health is not None  # else it would not go on
    checks = [[check.name, check.passed, check.detail, check.latency_ms, check.clock_skew_s] for check in probe.checks]
    return {"checks": checks, "health": [probe.health.status, probe.health.version], "keys": sorted(probe.key_ids)}


def _probe(plain: dict[str, Any]) -> Probe:
    return Probe(tuple(Check(*row) for row in plain["checks"]), Health(*plain["health"]), frozenset(plain["keys"]))
