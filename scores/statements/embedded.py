"""Saving on SQLite, whose immediate transaction is the lock: nobody else writes between these statements."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from scores import transitions
from scores.models import Reward, Score, WorkflowRun
from scores.statements import Failed, Saved, Success
from scores.statements.prepared import Prepared, prepare
from scores.states import RunStatus

_COMPLETES_FROM = frozenset(transitions.sources(RunStatus.COMPLETED)) - {RunStatus.WAITING.value}
_SAVED = ("pk", "completion_id", "task_id", "organization_id", "panel_size", "error_code")


def complete(grader_id: UUID, grader_version_id: UUID, successes: Sequence[Success]) -> set[UUID]:
    """See Statements."""
    wanted = [success.run.run_id for success in successes]
    open_runs = WorkflowRun.objects.filter(pk__in=wanted, status__in=_COMPLETES_FROM)
    moved = set(open_runs.values_list("pk", flat=True))
    if not moved:
        return moved
    now = datetime.now(UTC)
    WorkflowRun.objects.filter(pk__in=moved).update(
        status=RunStatus.COMPLETED,
        completed_at=now,
        leased_until=None,
        wake_at=None,
        error_code="",
        error_message="",
        error_repeats=0,
    )
    pairs = [pair for pair in zip(successes, prepare(successes), strict=True) if pair[0].run.run_id in moved]
    Score.objects.bulk_create(_score(success, one, grader_id, grader_version_id, now) for success, one in pairs)
    Reward.objects.bulk_create(
        [_reward(success, now) for success, _ in pairs if success.run.panel_size == 1], ignore_conflicts=True
    )
    return moved


def fail(failures: Sequence[Failed]) -> list[Saved]:
    """See Statements."""
    moved = [
        failure.run_id
        for failure in failures
        if _move(failure, RunStatus.FAILED, completed_at=datetime.now(UTC), wake_at=None)
    ]
    return [Saved(*row) for row in WorkflowRun.objects.filter(pk__in=moved).values_list(*_SAVED)]


def sleep(failures: Sequence[Failed]) -> None:
    """See Statements."""
    for failure in failures:
        _move(failure, RunStatus.SLEEPING, wake_at=failure.wake_at)


def _move(failure: Failed, to: RunStatus, **changes: Any) -> int:
    held = WorkflowRun.objects.filter(pk=failure.run_id, status__in=transitions.sources(to))
    if failure.attempt is not None:
        held = held.filter(attempt=failure.attempt, status=RunStatus.RUNNING)
    return held.update(
        status=to,
        leased_until=None,
        error_code=failure.code,
        error_message=failure.message[:600],
        error_repeats=failure.repeats,
        failures=F("failures") + (1 if failure.repeats else 0),
        **changes,
    )


def _score(success: Success, one: Prepared, grader_id: UUID, grader_version_id: UUID, now: datetime) -> Score:
    run, verdict = success.run, success.verdict
    score = Score(
        id=one.score_id,
        organization_id=run.organization_id,
        run_id=run.run_id,
        completion_id=run.completion_id,
        task_id=run.task_id,
        grader_id=grader_id,
        grader_version_id=grader_version_id,
        shadow=run.panel_size == 0,
        value=verdict.value,
        confidence=verdict.confidence,
        raw_value=verdict.value,
        dimensions=None if one.dimensions is None else json.loads(one.dimensions),
        created_at=now,
    )
    score.reasoning = one.reasoning  # already an envelope
    return score


def _reward(success: Success, now: datetime) -> Reward:
    run = success.run
    return Reward(
        completion_id=run.completion_id,
        organization_id=run.organization_id,
        task_id=run.task_id,
        value=success.reward,
        confidence=success.verdict.confidence,
        aggregation=success.aggregation,
        used=1,
        failed=0,
        scored_at=now,
    )
