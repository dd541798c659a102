"""Save results on SQLite. Its immediate transaction is the lock: no other process writes between these statements."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from autotune.core.crypto.fields import Ciphertext
from autotune.webhooks.events import outbox
from autotune.webhooks.events.outbox import EmittedEvent
from autotune.webhooks.states import EventKind
from scores.engine import timeline, transitions, waits
from scores.engine.statements import FailureToStore, PauseToStore, SavedRun, VerdictToStore
from scores.engine.statements.prepared import PreparedScore, messages, prepare
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunStatus
from tasks.states import CompletionSource

_SAVED = ("pk", "completion_id", "task_id", "organization_id", "purpose", "error_code")


def complete(grader_id: UUID, grader_version_id: UUID, successes: Sequence[VerdictToStore]) -> set[UUID]:
    """See Statements."""
    run_ids = [success.run.run_id for success in successes]
    open_runs = WorkflowRun.objects.filter(pk__in=run_ids, status__in=transitions.sources(RunStatus.COMPLETED))
    answerable_runs = open_runs.exclude(waits_for__in=waits.UNANSWERABLE)
    rows = answerable_runs.values_list("pk", "completion__source", "completion__held_out")
    origins = {pk: {"source": source, "held_out": held_out} for pk, source, held_out in rows}
    moved = set(origins)
    if not moved:
        return moved
    now = datetime.now(UTC)
    WorkflowRun.objects.filter(pk__in=moved).update(
        status=RunStatus.COMPLETED,
        completed_at=now,
        leased_until=None,
        wake_at=None,
        waits_for="",
        error_code="",
        error_message="",
        error_repeats=0,
    )
    for success in successes:
        if success.step is not None and success.run.run_id in moved:
            _add_step(success.run.run_id, success.step)
    prepared_rows = prepare(successes, grader_version_id)
    pairs = [pair for pair in zip(successes, prepared_rows, strict=True) if pair[0].run.run_id in moved]
    Score.objects.bulk_create(
        _score(success, prepared, grader_id, grader_version_id, now, origins[success.run.run_id])
        for success, prepared in pairs
    )
    sole = [success for success, _ in pairs if success.run.panel_size == 1]
    Reward.objects.bulk_create(
        [_reward(success, now, origins[success.run.run_id]) for success in sole],
        update_conflicts=True,
        unique_fields=["completion"],
        update_fields=["value", "uncalibrated_value", "confidence", "used", "failed", "error_code", "scored_at"],
    )
    outbox.emit(
        EventKind.SCORE_COMPLETED,
        [
            EmittedEvent(success.run.organization_id, success.run.completion_id)
            for success in sole
            if origins[success.run.run_id]["source"] != CompletionSource.EVALUATION
        ],
    )
    return moved


def fail(failures: Sequence[FailureToStore]) -> list[SavedRun]:
    """See Statements."""
    moved = [
        failure.run_id
        for failure, message in zip(failures, messages(failures), strict=True)
        if _move(failure, message, RunStatus.FAILED, completed_at=datetime.now(UTC), wake_at=None, waits_for="")
    ]
    return [SavedRun(*row) for row in WorkflowRun.objects.filter(pk__in=moved).values_list(*_SAVED)]


def sleep(failures: Sequence[FailureToStore]) -> list[UUID]:
    """See Statements."""
    return [
        failure.run_id
        for failure, message in zip(failures, messages(failures), strict=True)
        if _move(failure, message, RunStatus.SLEEPING, wake_at=failure.wake_at, waits_for="")
    ]


def rest(paused: Sequence[PauseToStore]) -> None:
    """See Statements."""
    for pause in paused:
        _pause(pause, RunStatus.SLEEPING)


def wait(paused: Sequence[PauseToStore]) -> None:
    """See Statements."""
    for pause in paused:
        _pause(pause, RunStatus.WAITING)


def _pause(pause: PauseToStore, to: RunStatus) -> None:
    runs = WorkflowRun.objects.filter(pk=pause.run_id, attempt=pause.attempt, status=RunStatus.RUNNING)
    moved = runs.update(status=to, waits_for=pause.waits_for, wake_at=pause.until, leased_until=None)
    if moved and pause.step is not None:
        _add_step(pause.run_id, pause.step)


def _add_step(run_id: UUID, step: dict[str, Any]) -> None:
    """Add an entry to a run's timeline."""
    run = WorkflowRun.objects.filter(pk=run_id)
    run.update(steps=timeline.appended(run.values_list("steps", flat=True).get(), step))


def _move(failure: FailureToStore, message: Ciphertext | None, to: RunStatus, **changes: Any) -> int:
    runs = WorkflowRun.objects.filter(pk=failure.run_id, status__in=transitions.sources(to))
    if not failure.of_review:
        runs = runs.exclude(waits_for__in=waits.UNANSWERABLE)
    if failure.attempt is not None:
        awaited = waits.ANSWERABLE if to == RunStatus.FAILED else waits.RETRIED
        runs = runs.filter(Q(status=RunStatus.RUNNING) | Q(waits_for__in=awaited), attempt=failure.attempt)
    moved = runs.update(
        status=to,
        leased_until=None,
        error_code=failure.code,
        error_message=message,
        error_repeats=failure.repeats,
        failures=F("failures") + (1 if failure.repeats else 0),
        **changes,
    )
    if moved and failure.step is not None:
        _add_step(failure.run_id, failure.step)
    return moved


def _score(
    success: VerdictToStore,
    prepared: PreparedScore,
    grader_id: UUID,
    grader_version_id: UUID,
    now: datetime,
    origin: dict[str, Any],
) -> Score:
    """`origin`: source and held-out mark of the completion."""
    run, verdict = success.run, success.verdict
    score = Score(
        id=prepared.score_id,
        organization_id=run.organization_id,
        run_id=run.run_id,
        completion_id=run.completion_id,
        task_id=run.task_id,
        grader_id=grader_id,
        grader_version_id=grader_version_id,
        purpose=run.purpose,
        value=verdict.value,
        confidence=verdict.confidence,
        raw_value=prepared.raw_value,
        dimensions=None if prepared.dimensions is None else json.loads(prepared.dimensions),
        created_at=now,
        **origin,
    )
    score.reasoning, score.details = prepared.reasoning, prepared.details  # envelopes already
    return score


def _reward(success: VerdictToStore, now: datetime, origin: dict[str, Any]) -> Reward:
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
        **origin,
    )
