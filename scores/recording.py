"""Saving what graders said. One transaction: runs moved on, scores inserted, rewards computed, counters kept.

A success needs only that the run has no verdict yet: the first valid answer of any attempt wins. A failure or a sleep
is written only by the attempt that holds the lease. A unique constraint on (run) is the last guard against a second.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from graders import stats
from graders.gateway.types import Verdict
from scores import settling
from scores.claims import Claimed
from scores.materials import Facts
from scores.retries import Decision
from scores.rewards import Scored, aggregate
from scores.statements import Failed, Saved, Success, statements


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on a run, with the version of the task that its reward follows, and the grader's when it was asked."""

    run: Claimed
    verdict: Verdict
    version_id: UUID
    grader_version_id: UUID
    latency_ms: float


@dataclass(frozen=True, slots=True)
class Missed:
    """A failed attempt on a run, and what follows from it. `called` is false where no call went out."""

    run: Claimed
    decision: Decision
    called: bool = True


def save(
    grader_id: UUID,
    grader_version_id: UUID,
    judged: Sequence[Judged],
    missed: Sequence[Missed],
    facts: Facts,
) -> None:
    """Record a group of results of one grader, in one transaction.

    raises OperationalError if the database is away; then nothing of the group is stored, and the leases run out
    """
    with transaction.atomic():
        runs = [entry.run for entry in judged] + [entry.run for entry in missed]
        panels = [run.completion_id for run in runs if run.panel_size > 1]
        if panels:
            settling.lock(panels)
        store = statements(connection.vendor)
        moved = store.complete(grader_id, grader_version_id, [_success(entry, facts) for entry in judged])
        failed = store.fail([_failed(entry) for entry in missed if entry.decision.wake_at is None])
        store.sleep([_failed(entry) for entry in missed if entry.decision.wake_at is not None])
        settling.settle_sole_failures(failed)
        settling.settle_panels(_panels(judged, moved, failed), facts)
        _count(grader_id, grader_version_id, judged, missed, moved)


def fail(runs: Sequence[Claimed | Saved], code: str, message: str, facts: Facts) -> int:
    """Fail unfinished runs that nobody called: past their deadline, or their grader is gone. How many moved."""
    with transaction.atomic():
        panels = [run.completion_id for run in runs if run.panel_size > 1]
        if panels:
            settling.lock(panels)
        failed = statements(connection.vendor).fail([Failed(run.run_id, None, code, message, 0) for run in runs])
        settling.settle_sole_failures(failed)
        settling.settle_panels({run.completion_id for run in failed if run.panel_size > 1}, facts)
    return len(failed)


def _success(entry: Judged, facts: Facts) -> Success:
    run, verdict = entry.run, entry.verdict
    version = facts.version(entry.version_id)
    sole = run.panel_size == 1
    value = aggregate([Scored(verdict.value, verdict.confidence)], version.aggregation) if sole else None
    return Success(run, verdict, version.aggregation, value)


def _failed(entry: Missed) -> Failed:
    decision = entry.decision
    return Failed(
        entry.run.run_id, entry.run.attempt, decision.code, decision.message, decision.repeats, decision.wake_at
    )


def _panels(judged: Sequence[Judged], moved: set[UUID], failed: Sequence[Saved]) -> set[UUID]:
    """Completions of larger panels of which a run became final just now."""
    done = {entry.run.completion_id for entry in judged if entry.run.panel_size > 1 and entry.run.run_id in moved}
    return done | {run.completion_id for run in failed if run.panel_size > 1}


def _count(
    grader_id: UUID,
    grader_version_id: UUID,
    judged: Sequence[Judged],
    missed: Sequence[Missed],
    moved: set[UUID],
) -> None:
    counted = [entry for entry in judged if entry.run.run_id in moved]
    stats.record(
        grader_id,
        grader_version_id,
        values=[entry.verdict.value for entry in counted],
        latency_ms=[entry.latency_ms for entry in counted],
        errors=Counter(entry.decision.code for entry in missed if entry.called),
    )
