"""Save the answers of graders. One transaction moves runs, inserts scores, and writes rewards, events and counters.

A success needs only that the run has no verdict yet: the first valid answer of any attempt wins. A failure, a sleep or
a wait is written only by the attempt that holds the lease. A unique constraint on (run) is the last protection.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from graders.statistics import tallies
from scores.engine import evidence, settling
from scores.engine.call_results import CallResults, FailedAttempt, JudgedRun
from scores.engine.claims import ClaimedRun
from scores.engine.materials import TaskFactsCache
from scores.engine.rewards import WeightedScore, aggregate
from scores.engine.statements import FailureToStore, SavedRun, VerdictToStore, statements
from scores.engine.timeline import entry
from scores.models import WorkflowRun
from scores.reviews import opening
from scores.states import BACKGROUND

OVERTAKEN: Final = "end"


def save(grader_id: UUID, grader_version_id: UUID, results: CallResults, facts: TaskFactsCache) -> None:
    """Record a group of results of one grader, in one transaction.

    raises OperationalError if the database is unavailable; then nothing of the group is stored, and the leases expire
    """
    with transaction.atomic():
        _save(grader_id, grader_version_id, results, facts)


def save_callback(
    grader_id: UUID,
    grader_version_id: UUID,
    judged: Sequence[JudgedRun],
    failed: Sequence[FailedAttempt],
    facts: TaskFactsCache,
) -> set[UUID]:
    """Record the results of a callback. Return the runs that are final or under review because of it."""
    with transaction.atomic():
        return _save(grader_id, grader_version_id, CallResults(list(judged), list(failed)), facts)


def fail(
    runs: Sequence[ClaimedRun | SavedRun], code: str, message: str, facts: TaskFactsCache, *, step: str = OVERTAKEN
) -> int:
    """Fail unfinished runs that have no answer: past their deadline, cancelled, or of a grader that is gone.

    Returns the number of runs that failed.

    step  entry for the timeline; with OVERTAKEN, runs that wait for a reviewer by now are left unchanged
    """
    with transaction.atomic():
        settling.lock({run.completion_id for run in runs if run.counts})
        of_review = step != OVERTAKEN
        failures = [
            FailureToStore(
                run.run_id, run.organization_id, None, code, message, 0, step=entry(step, 0, code), of_review=of_review
            )
            for run in runs
        ]
        failed = statements(connection.vendor).fail(failures)
        settling.settle({run.completion_id for run in failed if run.counts}, facts)
    return len(failed)


def _save(grader_id: UUID, grader_version_id: UUID, results: CallResults, facts: TaskFactsCache) -> set[UUID]:
    """Save a group inside a transaction. Return the runs that are scored, failed or under review now."""
    final = [entry for entry in results.missed if entry.decision.wake_at is None]
    shared = _shared(results.judged) | {entry.run.completion_id for entry in final if entry.run.counts}
    if shared:
        settling.lock(shared)
    certain, doubtful = _by_confidence(results.judged, facts)
    if results.mixed or (certain and doubtful):
        _lock_runs(results)
    store = statements(connection.vendor)
    moved = store.complete(grader_id, grader_version_id, [_success(entry, facts) for entry in certain])
    failed = store.fail([_failed(entry) for entry in final])
    slept = store.sleep([_failed(entry) for entry in results.missed if entry.decision.wake_at is not None])
    if results.missed:
        evidence.record(grader_id, results.missed, {*slept, *(run.run_id for run in failed)})
    store.rest([postponed.paused("hold") for postponed in results.resting])
    store.wait([postponed.paused("call") for postponed in results.accepted])
    opened = opening.open(doubtful, grader_id, grader_version_id, facts) if doubtful else set()
    if shared:
        ended = _shared(entry for entry in certain if entry.run.run_id in moved)
        settling.settle(ended | {run.completion_id for run in failed if run.counts}, facts)
    _count(grader_id, grader_version_id, results, moved | opened)
    return moved | opened | {run.run_id for run in failed}


def _lock_runs(results: CallResults) -> None:
    """Lock all runs of the group in id order: later statements lock them in parts, as those of other workers do."""
    runs = WorkflowRun.objects.filter(pk__in=[run.run_id for run in results.runs()]).order_by("pk")
    list(runs.select_for_update(no_key=True).values_list("pk", flat=True))


def _shared(judged: Iterable[JudgedRun]) -> set[UUID]:
    """Completions whose reward depends on more than this run: those with larger panels, and re-scores."""
    return {
        entry.run.completion_id
        for entry in judged
        if entry.run.panel_size > 1 or (entry.run.generation > 0 and entry.run.counts)
    }


def _by_confidence(judged: Sequence[JudgedRun], facts: TaskFactsCache) -> tuple[list[JudgedRun], list[JudgedRun]]:
    """Split the verdicts: those that count as they are, and those that need a person's review (the task's `review`)."""
    certain: list[JudgedRun] = []
    doubtful: list[JudgedRun] = []
    first = {entry.run.run_id: entry for entry in reversed(judged)}  # of two on one run the first counts
    for judgement in first.values():
        run = judgement.run
        below = facts.task(run.task_id).review_below if run.counts else None
        (doubtful if below is not None and judgement.verdict.confidence < below else certain).append(judgement)
    return certain, doubtful


def _success(entry: JudgedRun, facts: TaskFactsCache) -> VerdictToStore:
    run, verdict = entry.run, entry.verdict
    version = facts.version(entry.version_id)
    sole = run.panel_size == 1
    value = aggregate([WeightedScore(verdict.value, verdict.confidence)], version.aggregation) if sole else None
    return VerdictToStore(run, verdict, version.aggregation, value, entry.step)


def _failed(entry: FailedAttempt) -> FailureToStore:
    run, decision = entry.run, entry.decision
    return FailureToStore(
        run.run_id,
        run.organization_id,
        run.attempt,
        decision.code,
        decision.message,
        decision.repeats,
        decision.wake_at,
        entry.step,
    )


def _count(grader_id: UUID, grader_version_id: UUID, results: CallResults, moved: set[UUID]) -> None:
    """Add the results to the grader's statistics, without those of background purposes."""
    counted = [entry for entry in results.judged if entry.run.run_id in moved and entry.run.purpose not in BACKGROUND]
    tallies.record(
        grader_id,
        grader_version_id,
        values=[entry.verdict.value for entry in counted],
        latency_ms=[entry.latency_ms for entry in counted],
        errors=Counter(
            entry.decision.code for entry in results.missed if entry.called and entry.run.purpose not in BACKGROUND
        ),
    )
