"""Save copies of scores: in one statement on PostgreSQL, in bulk statements on the embedded SQLite.

Copies do not change the grader's statistics or use its limits, since Autotune did not call it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F

from autotune.core import ids
from autotune.core.crypto.fields import Ciphertext
from autotune.webhooks.events import outbox
from autotune.webhooks.events.outbox import EmittedEvent
from autotune.webhooks.events.payloads import subscribed_sql
from autotune.webhooks.states import EventKind
from scores.engine import timeline
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunPurpose, RunStatus, WaitKind


@dataclass(frozen=True, slots=True)
class ScoreCopy:
    """A score to copy to a run that waits for it.

    score_id       id of the copy
    original       id of the score to copy
    reasoning      reasoning of the original, encrypted for the copy
    details        its details, likewise
    step           entry for the timeline
    """

    run_id: UUID
    score_id: UUID
    original: UUID
    reasoning: Ciphertext | None
    details: Ciphertext | None
    step: dict[str, Any]


_REWARD: Final = ("value", "uncalibrated_value", "confidence", "aggregation", "used", "failed", "error_code")
# Each row is looked up by its primary key, in steps that the planner cannot turn into a scan (see postgres.py).
_COPY: Final = f"""
with incoming as (
    select * from unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::bytea[], %s::bytea[],
                         %s::jsonb[])
         as x(run_id, score_id, event_id, original, reasoning, details, step)
), due as materialized (
    select x.*, run.* from incoming x cross join lateral (
        select r.organization_id, r.completion_id, r.task_id, r.grader_id, r.panel_size, r.reuses,
               r.status = '{RunStatus.WAITING}' and r.waits_for = '{WaitKind.REUSE}' as is_due
        from scores_workflowrun r where r.id = x.run_id offset 0 for no key update
    ) run where is_due
), moved as (
    update scores_workflowrun r
    set status = '{RunStatus.COMPLETED}', completed_at = clock_timestamp(), waits_for = '', reuses = null,
        wake_at = null, steps = coalesce(r.steps, '[]'::jsonb) || due.step
    from due where r.id = any(array(select run_id from due)) and r.id = due.run_id
    returning r.id
), copied as (
    insert into scores_score (id, organization_id, run_id, completion_id, task_id, grader_id, grader_version_id,
                              purpose, value, confidence, raw_value, calibrated_value, calibrated_map_id, reasoning,
                              details, dimensions, reviewed_by_id, reused_from, source, held_out, created_at)
    select due.score_id, due.organization_id, due.run_id, due.completion_id, due.task_id, due.grader_id,
           s.grader_version_id, '{RunPurpose.SCORE}', s.value, s.confidence, s.raw_value, s.calibrated_value,
           s.calibrated_map_id, due.reasoning, due.details, s.dimensions, s.reviewed_by_id, s.id, c.source, c.held_out,
           clock_timestamp()
    from due cross join lateral (select * from scores_score o where o.id = due.original offset 0) s
         cross join lateral (select source, held_out from tasks_completion where id = due.completion_id offset 0) c
), rewarded as (
    insert into scores_reward (completion_id, organization_id, task_id, value, uncalibrated_value, confidence,
                               aggregation, used, failed, error_code, source, held_out, scored_at)
    select due.completion_id, due.organization_id, due.task_id, w.value, w.uncalibrated_value, w.confidence,
           w.aggregation, w.used, w.failed, w.error_code, c.source, c.held_out, clock_timestamp()
    from due cross join lateral (select * from scores_reward o where o.completion_id = due.reuses offset 0) w
         cross join lateral (select source, held_out from tasks_completion where id = due.completion_id offset 0) c
    where due.panel_size = 1
), announced as (
    insert into webhooks_event (id, organization_id, kind, subject_id, created_at)
    select event_id, organization_id, '{EventKind.SCORE_COMPLETED}', completion_id, clock_timestamp()
    from due where panel_size = 1 and {subscribed_sql(EventKind.SCORE_COMPLETED)}
)
select id from moved
"""  # noqa: S608 - only constants


def copy(copies: Sequence[ScoreCopy]) -> set[UUID]:
    """Complete the runs that still wait for a copy, and return their ids.

    It inserts their scores, and for panels of one grader also the rewards and their events. The caller's transaction
    must lock the completions.
    """
    if not copies:
        return set()
    return _copy_postgres(copies) if connection.vendor == "postgresql" else _copy_embedded(copies)


def _copy_postgres(copies: Sequence[ScoreCopy]) -> set[UUID]:
    copies = sorted(copies, key=lambda copy_: copy_.run_id)  # the order of the locks
    columns: list[Any] = [
        [copy_.run_id for copy_ in copies],
        [copy_.score_id for copy_ in copies],
        [ids.new() for _ in copies],
        [copy_.original for copy_ in copies],
        [copy_.reasoning for copy_ in copies],
        [copy_.details for copy_ in copies],
        [json.dumps(copy_.step) for copy_ in copies],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_COPY, columns)
        return {row[0] for row in cursor.fetchall()}


def _copy_embedded(copies: Sequence[ScoreCopy]) -> set[UUID]:
    """SQLite has one writer: the immediate transaction is the lock."""
    by_run = {copy_.run_id: copy_ for copy_ in copies}
    waiting = WorkflowRun.objects.filter(pk__in=by_run, status=RunStatus.WAITING, waits_for=WaitKind.REUSE)
    origin = {"source": F("completion__source"), "held_out": F("completion__held_out")}
    runs = list(waiting.annotate(**origin))
    originals = Score.objects.defer("reasoning", "details").in_bulk([by_run[run.pk].original for run in runs])
    sole = {run.reuses: run for run in runs if run.panel_size == 1}
    rewards = Reward.objects.in_bulk([pk for pk in sole if pk])
    now = datetime.now(UTC)
    Score.objects.bulk_create(_score(run, by_run[run.pk], originals[by_run[run.pk].original], now) for run in runs)
    Reward.objects.bulk_create(
        _reward(run, rewards[run.reuses], now) for run in runs if run.panel_size == 1 and run.reuses
    )
    outbox.emit(
        EventKind.SCORE_COMPLETED,
        [EmittedEvent(run.organization_id, run.completion_id) for run in runs if run.panel_size == 1],
    )
    for run in runs:
        run.status, run.completed_at, run.waits_for, run.reuses, run.wake_at = RunStatus.COMPLETED, now, "", None, None
        run.steps = timeline.appended(run.steps, by_run[run.pk].step)
    changed = ["status", "completed_at", "waits_for", "reuses", "wake_at", "steps"]
    WorkflowRun.objects.bulk_update(runs, changed, batch_size=200)
    return {run.pk for run in runs}


def _score(run: Any, copy_: ScoreCopy, original: Score, now: datetime) -> Score:
    score = Score(
        id=copy_.score_id,
        organization_id=run.organization_id,
        run_id=run.pk,
        completion_id=run.completion_id,
        task_id=run.task_id,
        grader_id=run.grader_id,
        grader_version_id=original.grader_version_id,
        value=original.value,
        confidence=original.confidence,
        raw_value=original.raw_value,
        calibrated_value=original.calibrated_value,
        calibrated_map_id=original.calibrated_map_id,
        dimensions=original.dimensions,
        reviewed_by_id=original.reviewed_by_id,
        reused_from=original.pk,
        created_at=now,
        source=run.source,
        held_out=run.held_out,
    )
    score.reasoning, score.details = copy_.reasoning, copy_.details  # envelopes already
    return score


def _reward(run: Any, original: Reward, now: datetime) -> Reward:
    return Reward(
        completion_id=run.completion_id,
        organization_id=run.organization_id,
        task_id=run.task_id,
        scored_at=now,
        source=run.source,
        held_out=run.held_out,
        **{name: getattr(original, name) for name in _REWARD},
    )
