"""Verification in two steps, each a request of its own: a page shows what /health brought while /score is still out.

What the first step found travels to the second as a signed ticket, so any process may take it, and nothing is kept of a
verification that was not gone on with. A ticket allows what a whole verification would: one sample.
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
    """What /health brought, and a ticket to go on with; '' where that was the end: then it is settled.

    raises  as verification.verify
    """
    target = targets.load(grader)
    release()
    probe, goes_on = verification.begin(grader, target)
    if goes_on:
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
    """A ticket is for this grader at this address with this secret alone."""
    return f"graders.verifying.{grader.pk}.{target.current.key_id}.{target.base_url}"


def _plain(probe: Probe) -> dict[str, Any]:
    assert probe.health is not None  # else it would not go on
    checks = [[check.name, check.passed, check.detail, check.latency_ms, check.clock_skew_s] for check in probe.checks]
    return {"checks": checks, "health": [probe.health.status, probe.health.version], "keys": sorted(probe.key_ids)}


def _probe(plain: dict[str, Any]) -> Probe:
    return Probe(tuple(Check(*row) for row in plain["checks"]), Health(*plain["health"]), frozenset(plain["keys"]))
