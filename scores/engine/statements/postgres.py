"""Save results on PostgreSQL: one statement for each step, which locks rows in id order and moves runs before it
inserts scores. If scores were inserted first, a run that was cancelled at the same time could keep a score.

No plan here depends on the statistics. They may be from a moment when nothing was queued. Then the planner assumes that
hardly any run is unfinished: it would read all runs to find them, or compare each incoming row with each due row.
So every statement has the same two steps, whose order and access path the planner cannot choose:

- `due` looks up and locks each incoming run by its primary key in a lateral subquery, which cannot be flattened. The
  incoming rows are sorted by id, so the locks are taken in that order. The run's state is checked only after that.
- the update names its runs again as `= any(array(...))`. The planner always estimates ten rows for that, and uses an
  index scan. The update returns what later steps need of `due`, so nothing is joined to `due` again.

`bench/plans.py` captures the plans with three kinds of statistics.
"""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from autotune.webhooks.events.payloads import subscribed_sql
from autotune.webhooks.states import EventKind
from scores.engine import transitions, waits
from scores.engine.statements import FailureToStore, PauseToStore, SavedRun, VerdictToStore
from scores.engine.statements.prepared import messages, prepare
from scores.engine.timeline import MAX_STEPS
from scores.states import RunStatus
from tasks.states import CompletionSource

# A run that waits for a reviewer already has its grader's answer, and only the decision completes it; a run that waits
# for an equal completion gets a copy (statements/copies.py).
_ANSWERABLE = waits.answerable()
_STEPS = f"""steps = case when due.step is null then r.steps
        when due.step ->> 's' = 'hold' and r.steps -> -1 ->> 's' = 'hold' then (r.steps - (-1)) || due.step
        when jsonb_array_length(r.steps) >= {MAX_STEPS} then (r.steps - 0) || due.step
        else coalesce(r.steps, '[]'::jsonb) || due.step end"""


def _due(condition: str) -> str:
    """Select the incoming rows whose run meets a condition after it is locked.

    The lookup is only by key: with a status in it, the planner may read the partial index of that status instead. As a
    column behind OFFSET the condition stays out of the lookup, and the planner estimates that it holds for half of the
    rows.
    """
    return f"""select x.* from incoming x cross join lateral (
        select {condition} as is_due
        from scores_workflowrun r where r.id = x.run_id offset 0 for no key update
    ) locked where is_due"""  # noqa: S608 - only constants


_COMPLETABLE = _due(f"{transitions.condition(RunStatus.COMPLETED)} and {_ANSWERABLE}")
_COMPLETE = f"""
with incoming as (
    select * from unnest(
        %s::uuid[], %s::uuid[], %s::uuid[], %s::float8[], %s::float8[], %s::float8[], %s::bytea[], %s::bytea[],
        %s::jsonb[], %s::text[], %s::float8[], %s::jsonb[]
    ) as x(run_id, score_id, event_id, value, confidence, raw_value, reasoning, details, dimensions, aggregation,
           reward, step)
), due as materialized (
    {_COMPLETABLE}
), moved as (
    update scores_workflowrun r
    set status = 'completed', completed_at = clock_timestamp(), leased_until = null, wake_at = null, waits_for = '',
        error_code = '', error_message = null, error_repeats = 0, {_STEPS}
    from due where r.id = any(array(select run_id from due)) and r.id = due.run_id
    returning r.organization_id, r.completion_id, r.task_id, r.purpose, r.panel_size, due.*
), sourced as (
    select moved.*, c.source, c.held_out from moved cross join lateral (
        select source, held_out from tasks_completion where id = moved.completion_id offset 0
    ) c
), scored as (
    insert into scores_score (id, organization_id, run_id, completion_id, task_id, grader_id, grader_version_id,
                              purpose, value, confidence, raw_value, reasoning, details, dimensions, source, held_out,
                              created_at)
    select score_id, organization_id, run_id, completion_id, task_id, %s, %s,
           purpose, value, confidence, raw_value, reasoning, details, dimensions, source, held_out,
           clock_timestamp()
    from sourced
), rewarded as (
    insert into scores_reward (completion_id, organization_id, task_id, value, confidence, aggregation,
                               used, failed, error_code, source, held_out, scored_at)
    select completion_id, organization_id, task_id, reward, confidence, aggregation, 1, 0, '', source, held_out,
           clock_timestamp()
    from sourced where panel_size = 1
    on conflict (completion_id) do update
    set value = excluded.value, uncalibrated_value = null, confidence = excluded.confidence, used = 1, failed = 0,
        error_code = '', scored_at = excluded.scored_at
), announced as (
    insert into webhooks_event (id, organization_id, kind, subject_id, created_at)
    select event_id, organization_id, '{EventKind.SCORE_COMPLETED}', completion_id, clock_timestamp()
    from sourced
    where panel_size = 1 and source <> '{CompletionSource.EVALUATION}'
        and {subscribed_sql(EventKind.SCORE_COMPLETED, "sourced")}
)
select run_id from moved
"""  # noqa: S608 - only constants


def _failing(condition: str, has_lease: str) -> str:
    """`_due` for failures: if a failure names an attempt, that attempt must hold the run."""
    of_attempt = f"(x.attempt is null or (x.attempt = r.attempt and {has_lease}))"
    return _due(f"{condition} and (x.of_review or {_ANSWERABLE}) and {of_attempt}")


_END_ATTEMPTS = f"""
with incoming as (
    select * from unnest(%s::uuid[], %s::int[], %s::text[], %s::bytea[], %s::int[], %s::timestamptz[], %s::jsonb[],
        %s::bool[]) as x(run_id, attempt, code, message, repeats, wake_at, step, of_review)
), due as materialized (
    {{due}}
)
update scores_workflowrun r
set status = '{{to}}', {{changes}}, leased_until = null, error_code = due.code, error_message = due.message,
    error_repeats = due.repeats, failures = failures + (due.repeats > 0)::int, {_STEPS}
from due where r.id = any(array(select run_id from due)) and r.id = due.run_id
returning r.id, r.completion_id, r.task_id, r.organization_id, r.purpose, r.error_code
"""  # noqa: S608 - only constants
_FAIL = _END_ATTEMPTS.format(
    due=_failing(transitions.condition(RunStatus.FAILED), waits.failable()),
    to=RunStatus.FAILED.value,
    changes="completed_at = clock_timestamp(), wake_at = null, waits_for = ''",
)
_SLEEP = _END_ATTEMPTS.format(
    due=_failing(transitions.condition(RunStatus.SLEEPING), waits.retriable()),
    to=RunStatus.SLEEPING.value,
    changes="wake_at = due.wake_at, waits_for = ''",
)
_OURS = _due("r.status = 'running' and x.attempt = r.attempt")
_PAUSE = f"""
with incoming as (
    select * from unnest(%s::uuid[], %s::int[], %s::text[], %s::timestamptz[], %s::jsonb[])
        as x(run_id, attempt, waits_for, until, step)
), due as materialized (
    {_OURS}
)
update scores_workflowrun r
set status = '{{to}}', waits_for = due.waits_for, wake_at = due.until, leased_until = null, {_STEPS}
from due where r.id = any(array(select run_id from due)) and r.id = due.run_id
"""  # noqa: S608 - only constants
_REST = _PAUSE.format(to=RunStatus.SLEEPING.value)
_WAIT = _PAUSE.format(to=RunStatus.WAITING.value)


def complete(grader_id: UUID, grader_version_id: UUID, successes: Sequence[VerdictToStore]) -> set[UUID]:
    """See Statements."""
    if not successes:
        return set()
    successes = sorted(successes, key=lambda success: success.run.run_id)
    prepared = prepare(successes, grader_version_id)
    columns: list[Any] = [
        [success.run.run_id for success in successes],
        [row.score_id for row in prepared],
        [row.event_id for row in prepared],
        [success.verdict.value for success in successes],
        [success.verdict.confidence for success in successes],
        [row.raw_value for row in prepared],
        [row.reasoning for row in prepared],
        [row.details for row in prepared],
        [row.dimensions for row in prepared],
        [success.aggregation for success in successes],
        [success.reward for success in successes],
        [_json(success.step) for success in successes],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_COMPLETE, [*columns, grader_id, grader_version_id])
        return {row[0] for row in cursor.fetchall()}


def fail(failures: Sequence[FailureToStore]) -> list[SavedRun]:
    """See Statements."""
    return [SavedRun(*row) for row in _end_attempts(_FAIL, failures)]


def sleep(failures: Sequence[FailureToStore]) -> list[UUID]:
    """See Statements."""
    return [row[0] for row in _end_attempts(_SLEEP, failures)]


def rest(paused: Sequence[PauseToStore]) -> None:
    """See Statements."""
    _pause(_REST, paused)


def wait(paused: Sequence[PauseToStore]) -> None:
    """See Statements."""
    _pause(_WAIT, paused)


def _end_attempts(statement: str, failures: Sequence[FailureToStore]) -> list[tuple]:
    if not failures:
        return []
    failures = sorted(failures, key=lambda failure: failure.run_id)
    columns: list[Any] = [
        [failure.run_id for failure in failures],
        [failure.attempt for failure in failures],
        [failure.code for failure in failures],
        messages(failures),
        [failure.repeats for failure in failures],
        [failure.wake_at for failure in failures],
        [_json(failure.step) for failure in failures],
        [failure.of_review for failure in failures],
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)
        return cursor.fetchall()


def _pause(statement: str, paused: Sequence[PauseToStore]) -> None:
    if not paused:
        return
    paused = sorted(paused, key=lambda pause: pause.run_id)
    columns: list[Any] = [
        [pause.run_id for pause in paused],
        [pause.attempt for pause in paused],
        [pause.waits_for for pause in paused],
        [pause.until for pause in paused],
        [_json(pause.step) for pause in paused],
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)


def _json(step: dict[str, Any] | None) -> str | None:
    return None if step is None else json.dumps(step)
