"""Check whether due work is being processed (`/moving`): a connected process that takes no work is a fault."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError

from autotune.access.audit import sealing
from autotune.core.api.operations import ApiStruct
from autotune.core.connections import release
from autotune.site.status.probes import ReadinessCheck
from autotune.webhooks.models import Event
from scores.engine import stalls
from scores.engine.stalls import DueWork

MAX_SWEEP_AGE: Final = timedelta(seconds=30)
MAX_EXPIRED: Final = timedelta(seconds=30)
MAX_OUTBOX_LAG: Final = timedelta(seconds=60)
MAX_ERASING_STILL: Final = timedelta(minutes=5)  # beat runs the job every minute, and a batch takes seconds
MAX_UNSEALED: Final = sealing.LATE
READ_AGAIN_AFTER_S = 3.0  # a run that was only just woken is taken by then


class Moving(ApiStruct):
    """Whether due work is being processed. Ages and lags are in seconds; null if there is nothing to measure."""

    status: str
    checks: list[ReadinessCheck]
    oldest_due_age_s: float | None
    expired_leases: int | None
    outbox_lag_s: float | None
    last_sweep_age_s: float | None
    audit_lag_s: float | None


@dataclass(frozen=True, slots=True)
class WorkSnapshot:
    """The facts about runs, the outbox and the audit log.

    oldest_event     when the oldest event happened that is not fanned out
    oldest_unsealed  when the oldest event of the audit log was written that is not sealed
    """

    scores: DueWork
    oldest_event: datetime | None
    oldest_unsealed: datetime | None = None


def state() -> Moving:
    """Return the answer of `/moving`, even if the database does not answer."""
    try:
        return judged(take_snapshot())
    except DatabaseError:
        fault = "The database does not answer."
    return Moving("failed", [ReadinessCheck("database", "failed", fault)], None, None, None, None, None)


def take_snapshot() -> WorkSnapshot:
    """Read the current facts. Queues that seem to make no progress are read twice."""
    facts = stalls.read()
    if facts.still:
        release()
        time.sleep(READ_AGAIN_AFTER_S)
        again = stalls.read()
        facts = replace(again, still=facts.still & again.still)
    oldest = Event.objects.filter(fanned_out_at=None).order_by("pk").values_list("created_at", flat=True).first()
    return WorkSnapshot(facts, oldest, sealing.oldest_unsealed())


def judged(snapshot: WorkSnapshot) -> Moving:
    """Return the result of each check of the facts."""
    facts = snapshot.scores
    checks = [
        *(_sweep(facts), _due(facts), _leases(facts), _outbox(snapshot), _audit(snapshot)),
        *(_erasures(facts), _retention(facts)),
    ]
    return Moving(
        status=_worst(checks),
        checks=checks,
        oldest_due_age_s=_age_s(facts.oldest_due, facts.now),
        expired_leases=facts.expired_leases,
        outbox_lag_s=_age_s(snapshot.oldest_event, facts.now),
        last_sweep_age_s=_age_s(facts.last_sweep, facts.now),
        audit_lag_s=_age_s(snapshot.oldest_unsealed, facts.now),
    )


def _sweep(facts: DueWork) -> ReadinessCheck:
    """Check the age of the last sweep. Before the first one, only waiting work is a fault."""
    if facts.last_sweep is None:
        waited = _longer(facts.oldest_due, facts.now, MAX_SWEEP_AGE)
        return _check("sweep", "Work is due, but no worker has swept yet. Start a worker." if waited else "")
    late = _longer(facts.last_sweep, facts.now, MAX_SWEEP_AGE)
    return _check("sweep", "No worker has swept for too long. Check that a worker runs." if late else "")


def _due(facts: DueWork) -> ReadinessCheck:
    count = len(facts.still)
    return _check("due", f"Due runs of {count} grader{'s' * (count > 1)} wait; no worker takes them." if count else "")


def _leases(facts: DueWork) -> ReadinessCheck:
    late = _longer(facts.oldest_expired, facts.now, MAX_EXPIRED)
    return _check("leases", "Runs of lost workers are not returned. Check that a worker runs." if late else "")


def _outbox(snapshot: WorkSnapshot) -> ReadinessCheck:
    late = _longer(snapshot.oldest_event, snapshot.scores.now, MAX_OUTBOX_LAG)
    return _check("outbox", "Events wait too long for delivery. Check that a worker runs." if late else "")


def _audit(snapshot: WorkSnapshot) -> ReadinessCheck:
    late = _longer(snapshot.oldest_unsealed, snapshot.scores.now, MAX_UNSEALED)
    return _check("audit", "Events of the audit log are not sealed. Check that a worker runs." if late else "")


def _erasures(facts: DueWork) -> ReadinessCheck:
    late = _longer(facts.erasing_still, facts.now, MAX_ERASING_STILL)
    return _check("erasures", "An open erasure makes no progress. Check that a worker and beat run." if late else "")


def _retention(facts: DueWork) -> ReadinessCheck:
    late = facts.retaining_still is not None
    return _check("retention", "Old data is not erased when due. Check that a worker and beat run." if late else "")


def _check(name: str, fault: str) -> ReadinessCheck:
    return ReadinessCheck(name, "failed" if fault else "ok", fault)


def _worst(checks: Sequence[ReadinessCheck]) -> str:
    return "failed" if any(check.status == "failed" for check in checks) else "ok"


def _longer(since: datetime | None, now: datetime, limit: timedelta) -> bool:
    return since is not None and now - since > limit


def _age_s(since: datetime | None, now: datetime) -> float | None:
    return None if since is None else round(max(0.0, (now - since).total_seconds()), 3)
