"""Receive the ends of model calls that runs wait for, through the same door as the callbacks of graders.

A verdict completes its run, and a failure leads to another attempt or fails it, as for any answer. A run whose call
must be made again, such as one of a provider batch that expired, is due at once. The task's deadline does not count the
wait.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from autotune.core.clock import database_now
from graders.verdicts import Failure, Verdict
from scores.engine import recording, retries, settling, transitions, waits, wakeups
from scores.engine.call_results import FailedAttempt, JudgedRun
from scores.engine.claims import claimed_under
from scores.engine.materials import TaskFactsCache
from scores.engine.timeline import appended, entry
from scores.models import WorkflowRun
from scores.states import RunStatus, WaitKind
from tasks.models import Completion

STEP: Final = WaitKind.MODEL.value
AGAIN: Final = "again"  # how a wait ends whose call must be made again


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """The end of a model call.

    attempt            the run's attempt that began the wait; the end of another attempt's call changes nothing
    grader_version_id  the version that judged
    result             None: the call must be made again
    """

    run_id: UUID
    attempt: int
    grader_version_id: UUID
    result: Verdict | Failure | None


def receive(ends: Sequence[ModelEnd]) -> set[UUID]:
    """Apply the ends to the runs that still wait for them, in one transaction. Return the runs that moved.

    An end that comes twice, late, or after the run ended otherwise changes nothing.
    """
    by_run = {end.run_id: end for end in ends}
    with transaction.atomic():
        runs = _locked(by_run.values())
        if not runs:
            return set()
        now = database_now()
        since = {run.pk: _extend(run, now) for run in runs}
        WorkflowRun.objects.bulk_update(runs, ["deadline_at"], batch_size=200)
        _make_due([run for run in runs if by_run[run.pk].result is None], since, now)
        _record([(run, by_run[run.pk]) for run in runs if by_run[run.pk].result is not None], since, now)
    return {run.pk for run in runs}


def _locked(ends: Iterable[ModelEnd]) -> list[WorkflowRun]:
    """Lock the runs that wait for these ends: first their completions, as every save does."""
    attempts = {end.run_id: end.attempt for end in ends}
    rows = WorkflowRun.objects.filter(pk__in=attempts)
    settling.lock(rows.values_list("completion_id", flat=True))
    locked = rows.order_by("pk").select_for_update(no_key=True)
    # Filtered in Python: with a condition on the status, PostgreSQL may read the index of all waiting runs.
    return [
        run
        for run in locked
        if run.status == RunStatus.WAITING and run.waits_for == WaitKind.MODEL and run.attempt == attempts[run.pk]
    ]


def _extend(run: WorkflowRun, now: datetime) -> datetime:
    """Add the time of the wait to the run's deadline. Return the time since which it waited."""
    since = (run.wake_at or now) - waits.limit(WaitKind.MODEL)
    run.deadline_at += max(now - since, timedelta(0))
    return since


def _make_due(runs: Sequence[WorkflowRun], since: dict[UUID, datetime], now: datetime) -> None:
    for run in runs:
        run.steps = appended(run.steps, entry(STEP, run.attempt, AGAIN, started=since[run.pk], ended=now))
    WorkflowRun.objects.bulk_update(runs, ["steps"], batch_size=200)
    due = WorkflowRun.objects.filter(pk__in=[run.pk for run in runs])
    due.filter(status__in=transitions.sources(RunStatus.PENDING)).update(
        status=RunStatus.PENDING, waits_for="", wake_at=None, leased_until=None
    )
    wakeups.on_commit({run.grader_id for run in runs})


def _record(pairs: Sequence[tuple[WorkflowRun, ModelEnd]], since: dict[UUID, datetime], now: datetime) -> None:
    """Save verdicts and failures, in one group for each grader and version."""
    facts = TaskFactsCache()
    groups: dict[tuple[UUID, UUID], tuple[list[JudgedRun], list[FailedAttempt]]] = {}
    completion_ids = [run.completion_id for run, _ in pairs]
    task_versions = dict(Completion.objects.filter(pk__in=completion_ids).values_list("pk", "task_version_id"))
    for run, end in pairs:
        judged, missed = groups.setdefault((run.grader_id, end.grader_version_id), ([], []))
        if isinstance(end.result, Failure):
            missed.append(_missed(run, end.result, facts, since[run.pk], now))
        elif end.result is not None:
            latency_ms = max(0.0, (now - since[run.pk]) / timedelta(milliseconds=1))
            step = entry(STEP, run.attempt, "recorded", started=since[run.pk], ended=now)
            claimed = claimed_under(run, run.attempt)
            version_id = task_versions[run.completion_id]
            judged.append(JudgedRun(claimed, end.result, version_id, end.grader_version_id, latency_ms, step))
    for (grader_id, version_id), (judged, missed) in groups.items():
        recording.save_callback(grader_id, version_id, judged, missed, facts)


def _missed(run: WorkflowRun, failure: Failure, facts: TaskFactsCache, since: datetime, now: datetime) -> FailedAttempt:
    decision = retries.decide(
        failure,
        facts.task(run.task_id).policy,
        failures=run.failures,
        last_code=run.error_code,
        repeats=run.error_repeats,
        deadline=run.deadline_at,
        now=now,
    )
    step = entry(STEP, run.attempt, failure.code, started=since, ended=now, wake_at=decision.wake_at)
    return FailedAttempt(claimed_under(run, run.attempt), decision, step=step)
