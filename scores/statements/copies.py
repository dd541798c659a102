"""Saving copies of scores, in two bodies: one statement on PostgreSQL, bulk statements on the embedded SQLite.

No statistics of the grader are written, and nothing is counted against its limits: nobody called it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from autotune.core import ids
from autotune.core.fields import Ciphertext
from autotune.webhooks import outbox
from autotune.webhooks.outbox import Emitted
from autotune.webhooks.payloads import subscribed_sql
from autotune.webhooks.states import EventKind
from scores import timeline
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunStatus, WaitsFor


@dataclass(frozen=True, slots=True)
class Copy:
    """A score to copy to a run that waits for it.

    score_id       of the copy
    original       the score that is copied
    reasoning      of the original, encrypted for the copy
    step           the timeline's entry
    """

    run_id: UUID
    score_id: UUID
    original: UUID
    reasoning: Ciphertext | None
    step: dict[str, Any]


_REWARD: Final = ("value", "confidence", "aggregation", "used", "failed", "error_code")
# The rows are looked up by their ids and locked in a step of its own: no plan can turn it into a scan.
_COPY: Final = f"""
with held as materialized (
    select r.id, r.organization_id, r.completion_id, r.task_id, r.grader_id, r.panel_size, r.reuses
    from scores_workflowrun r
    where r.id = any(%s::uuid[]) and r.status = '{RunStatus.WAITING}' and r.waits_for = '{WaitsFor.REUSE}'
    order by r.id for no key update of r
), due as (
    select held.*, x.score_id, x.event_id, x.original, x.reasoning, x.step
    from unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::bytea[], %s::jsonb[])
         as x(run_id, score_id, event_id, original, reasoning, step)
    join held on held.id = x.run_id
), moved as (
    update scores_workflowrun r
    set status = '{RunStatus.COMPLETED}', completed_at = clock_timestamp(), waits_for = '', reuses = null,
        wake_at = null, steps = coalesce(r.steps, '[]'::jsonb) || due.step
    from due where r.id = due.id
    returning r.id
), copied as (
    insert into scores_score (id, organization_id, run_id, completion_id, task_id, grader_id, grader_version_id, shadow,
                              value, confidence, raw_value, reasoning, dimensions, reviewed_by_id, reused_from,
                              created_at)
    select due.score_id, due.organization_id, due.id, due.completion_id, due.task_id, due.grader_id,
           s.grader_version_id, false, s.value, s.confidence, s.raw_value, due.reasoning, s.dimensions,
           s.reviewed_by_id, s.id, clock_timestamp()
    from due join scores_score s on s.id = due.original
), rewarded as (
    insert into scores_reward (completion_id, organization_id, task_id, value, confidence, aggregation, used, failed,
                               error_code, scored_at)
    select due.completion_id, due.organization_id, due.task_id, w.value, w.confidence, w.aggregation, w.used, w.failed,
           w.error_code, clock_timestamp()
    from due join scores_reward w on w.completion_id = due.reuses
    where due.panel_size = 1
), told as (
    insert into webhooks_event (id, organization_id, kind, subject_id, created_at)
    select event_id, organization_id, '{EventKind.SCORE_COMPLETED}', completion_id, clock_timestamp()
    from due where panel_size = 1 and {subscribed_sql(EventKind.SCORE_COMPLETED)}
)
select id from moved
"""  # noqa: S608 - constants alone


def copy(copies: Sequence[Copy]) -> set[UUID]:
    """Complete the runs that still wait for a copy, and insert their scores and the rewards of sole graders with their
    events; inside the caller's transaction, which holds the completions. The runs that moved."""
    if not copies:
        return set()
    return _copy_postgres(copies) if connection.vendor == "postgresql" else _copy_embedded(copies)


def _copy_postgres(copies: Sequence[Copy]) -> set[UUID]:
    run_ids = [one.run_id for one in copies]
    columns: list[Any] = [
        [one.score_id for one in copies],
        [ids.new() for _ in copies],
        [one.original for one in copies],
        [one.reasoning for one in copies],
        [json.dumps(one.step) for one in copies],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_COPY, [run_ids, run_ids, *columns])
        return {row[0] for row in cursor.fetchall()}


def _copy_embedded(copies: Sequence[Copy]) -> set[UUID]:
    """SQLite has one writer: the immediate transaction is the lock."""
    by_run = {one.run_id: one for one in copies}
    waiting = WorkflowRun.objects.filter(pk__in=by_run, status=RunStatus.WAITING, waits_for=WaitsFor.REUSE)
    runs = list(waiting)
    originals = Score.objects.defer("reasoning").in_bulk([by_run[run.pk].original for run in runs])
    sole = {run.reuses: run for run in runs if run.panel_size == 1}
    rewards = Reward.objects.in_bulk([pk for pk in sole if pk])
    now = datetime.now(UTC)
    Score.objects.bulk_create(_score(run, by_run[run.pk], originals[by_run[run.pk].original], now) for run in runs)
    Reward.objects.bulk_create(
        _reward(run, rewards[run.reuses], now) for run in runs if run.panel_size == 1 and run.reuses
    )
    outbox.emit(
        EventKind.SCORE_COMPLETED,
        [Emitted(run.organization_id, run.completion_id) for run in runs if run.panel_size == 1],
    )
    for run in runs:
        run.status, run.completed_at, run.waits_for, run.reuses, run.wake_at = RunStatus.COMPLETED, now, "", None, None
        run.steps = timeline.appended(run.steps, by_run[run.pk].step)
    changed = ["status", "completed_at", "waits_for", "reuses", "wake_at", "steps"]
    WorkflowRun.objects.bulk_update(runs, changed, batch_size=200)
    return {run.pk for run in runs}


def _score(run: WorkflowRun, one: Copy, original: Score, now: datetime) -> Score:
    score = Score(
        id=one.score_id,
        organization_id=run.organization_id,
        run_id=run.pk,
        completion_id=run.completion_id,
        task_id=run.task_id,
        grader_id=run.grader_id,
        grader_version_id=original.grader_version_id,
        value=original.value,
        confidence=original.confidence,
        raw_value=original.raw_value,
        dimensions=original.dimensions,
        reviewed_by_id=original.reviewed_by_id,
        reused_from=original.pk,
        created_at=now,
    )
    score.reasoning = one.reasoning  # already an envelope
    return score


def _reward(run: WorkflowRun, original: Reward, now: datetime) -> Reward:
    return Reward(
        completion_id=run.completion_id,
        organization_id=run.organization_id,
        task_id=run.task_id,
        scored_at=now,
        **{name: getattr(original, name) for name in _REWARD},
    )
