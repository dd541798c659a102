"""Saving on PostgreSQL: one statement for each step, rows locked in id order, runs moved before scores are inserted.

Insert-first would leave a score on a run that a cancel closed meanwhile.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from scores import transitions
from scores.statements import Failed, Saved, Success
from scores.statements.prepared import prepare
from scores.states import RunStatus

# A run that waits for a person already has its grader's answer; only the decision completes it.
_NOT_WAITING = frozenset({RunStatus.WAITING})

_COMPLETE = f"""
with incoming as (
    select * from unnest(
        %s::uuid[], %s::uuid[], %s::float8[], %s::float8[], %s::bytea[], %s::jsonb[], %s::text[], %s::float8[]
    ) as x(run_id, score_id, value, confidence, reasoning, dimensions, aggregation, reward)
), due as (
    select r.organization_id, r.completion_id, r.task_id, r.panel_size, x.*
    from incoming x join scores_workflowrun r on r.id = x.run_id
    where {transitions.guard(RunStatus.COMPLETED, unless=_NOT_WAITING)}
    order by r.id for no key update of r
), moved as (
    update scores_workflowrun r
    set status = 'completed', completed_at = clock_timestamp(), leased_until = null, wake_at = null,
        error_code = '', error_message = '', error_repeats = 0
    from due where r.id = due.run_id
    returning r.id
), scored as (
    insert into scores_score (id, organization_id, run_id, completion_id, task_id, grader_id, grader_version_id,
                              shadow, value, confidence, raw_value, reasoning, dimensions, created_at)
    select score_id, organization_id, run_id, completion_id, task_id, %s, %s,
           panel_size = 0, value, confidence, value, reasoning, dimensions, clock_timestamp()
    from due join moved on moved.id = due.run_id
), rewarded as (
    insert into scores_reward (completion_id, organization_id, task_id, value, confidence, aggregation,
                               used, failed, error_code, scored_at)
    select completion_id, organization_id, task_id, reward, confidence, aggregation, 1, 0, '', clock_timestamp()
    from due join moved on moved.id = due.run_id where panel_size = 1
    on conflict (completion_id) do nothing
)
select id from moved
"""  # noqa: S608 - constants alone

_HELD = """
with incoming as (
    select * from unnest(%s::uuid[], %s::int[], %s::text[], %s::text[], %s::int[], %s::timestamptz[])
        as x(run_id, attempt, code, message, repeats, wake_at)
), due as (
    select r.id, x.* from incoming x join scores_workflowrun r on r.id = x.run_id
    where {guard} and (x.attempt is null or (x.attempt = r.attempt and r.status = 'running'))
    order by r.id for no key update of r
)
update scores_workflowrun r
set status = '{to}', {changes}, leased_until = null, error_code = due.code, error_message = due.message,
    error_repeats = due.repeats, failures = failures + (due.repeats > 0)::int
from due where r.id = due.id
returning r.id, r.completion_id, r.task_id, r.organization_id, r.panel_size, r.error_code
"""
_FAIL = _HELD.format(
    guard=transitions.guard(RunStatus.FAILED),
    to=RunStatus.FAILED.value,
    changes="completed_at = clock_timestamp(), wake_at = null",
)
_SLEEP = _HELD.format(
    guard=transitions.guard(RunStatus.SLEEPING), to=RunStatus.SLEEPING.value, changes="wake_at = due.wake_at"
)


def complete(grader_id: UUID, grader_version_id: UUID, successes: Sequence[Success]) -> set[UUID]:
    """See Statements."""
    if not successes:
        return set()
    prepared = prepare(successes)
    columns: list[Any] = [
        [success.run.run_id for success in successes],
        [one.score_id for one in prepared],
        [success.verdict.value for success in successes],
        [success.verdict.confidence for success in successes],
        [one.reasoning for one in prepared],
        [one.dimensions for one in prepared],
        [success.aggregation for success in successes],
        [success.reward for success in successes],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_COMPLETE, [*columns, grader_id, grader_version_id])
        return {row[0] for row in cursor.fetchall()}


def fail(failures: Sequence[Failed]) -> list[Saved]:
    """See Statements."""
    return [Saved(*row) for row in _held(_FAIL, failures)]


def sleep(failures: Sequence[Failed]) -> None:
    """See Statements."""
    _held(_SLEEP, failures)


def _held(statement: str, failures: Sequence[Failed]) -> list[tuple]:
    if not failures:
        return []
    columns: list[Any] = [
        [failure.run_id for failure in failures],
        [failure.attempt for failure in failures],
        [failure.code for failure in failures],
        [failure.message[:600] for failure in failures],
        [failure.repeats for failure in failures],
        [failure.wake_at for failure in failures],
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)
        return cursor.fetchall()
