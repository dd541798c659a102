"""Claim the due runs of one grader under a lease. The database is the queue; concurrent claims never share a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from autotune.core.clock import database_now
from graders import pauses
from scores.engine import transitions
from scores.engine.timeline import appended, entry
from scores.models import WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.states import BACKGROUND, BACKGROUND_PRIORITY, RunPurpose, RunStatus, WaitKind

LEASE = timedelta(seconds=15)
RENEW_AFTER = timedelta(seconds=5)
RESTED = 256  # runs of a held grader that are put to sleep at once
RESTED_BRIEFLY = 32  # for a rate limit, which holds the grader again every few seconds
OTHERS_PER_BACKGROUND: Final = 9  # other runs that earn one run of a background purpose
MOST_BACKGROUND_EARNED: Final = 50  # a drain that met no background work for long does not owe it a burst


@dataclass(slots=True)
class ClaimedRun:
    """A run that this process holds under a lease. `attempt` is the lease's token."""

    run_id: UUID
    completion_id: UUID
    task_id: UUID
    organization_id: UUID
    attempt: int
    panel_size: int
    deadline_at: datetime
    failures: int
    error_code: str
    error_repeats: int
    priority: int
    generation: int = 0
    purpose: str = RunPurpose.SCORE
    grader_version_id: UUID | None = None

    @property
    def counts(self) -> bool:
        """Whether the reward of its completion depends on it."""
        return self.purpose == RunPurpose.SCORE


class BackgroundShare:
    """How many runs of background purposes a drain may claim now: at most a tenth while other runs are due."""

    def __init__(self) -> None:
        self._others = 0  # runs of other purposes that have not earned one yet

    @property
    def earned(self) -> int:
        return self._others // OTHERS_PER_BACKGROUND

    def note(self, claimed: Sequence[ClaimedRun], limit: int) -> None:
        """Note a claim of at most `limit` runs. If it was not full, its background runs took the place of none."""
        background = sum(run.purpose in BACKGROUND for run in claimed)
        others = len(claimed) - background
        spent = background if len(claimed) == limit else 0
        self._others = max(
            0,
            min(self._others + others - OTHERS_PER_BACKGROUND * spent, OTHERS_PER_BACKGROUND * MOST_BACKGROUND_EARNED),
        )


_COLUMNS = (
    "id", "completion_id", "task_id", "organization_id", "attempt", "panel_size", "deadline_at", "failures",
    "error_code", "error_repeats", "priority", "generation", "purpose", "grader_version_id",
)  # fmt: skip
_PRIORITY = _COLUMNS.index("priority")
_CLAIMABLE = transitions.condition(RunStatus.RUNNING)
_RETURNED = ", ".join(f"r.{name}" for name in _COLUMNS)
_LEASED = """set status = 'running', attempt = attempt + 1, leased_until = clock_timestamp() + %s,
    started_at = coalesce(started_at, clock_timestamp())"""
# The priority separates the runs of background purposes in the indexes of due runs, whatever the statistics say. It is
# compared with a range, since for an equality PostgreSQL may walk the primary key. The statement locks no more of these
# runs than it may take; it always looks for one, so that a claim that is not full knows whether there are more.
_CLAIM = f"""
with due as materialized (
    select id from scores_workflowrun r
    where grader_id = %s and {_CLAIMABLE} and priority > {BACKGROUND_PRIORITY}
    order by priority desc, id limit %s for update skip locked
), background as materialized (
    select id from scores_workflowrun r
    where grader_id = %s and {_CLAIMABLE} and priority <= {BACKGROUND_PRIORITY}
    order by priority desc, id limit %s for update skip locked
), shares as materialized (
    select least((select count(*) from background), greatest(%s, %s - (select count(*) from due))) as background
), taken as (
    (select id from background limit (select background from shares))
    union all
    (select id from due limit %s - (select background from shares))
)
update scores_workflowrun r {_LEASED}
where r.id = any(array(select id from taken))
returning {_RETURNED}
"""  # noqa: S608 - only constants
_CLAIM_BACKGROUND = f"""
with background as materialized (
    select id from scores_workflowrun r
    where grader_id = %s and {_CLAIMABLE} and priority <= {BACKGROUND_PRIORITY}
    order by priority desc, id limit %s for update skip locked
)
update scores_workflowrun r {_LEASED}
where r.id = any(array(select id from background))
returning {_RETURNED}
"""  # noqa: S608 - only constants
# Rows are locked in id order, as in a save: two statements that share rows must not wait for each other. Each run is
# looked up by its key, so the plan does not depend on the statistics (scores/engine/statements/postgres.py).
_OURS = """
with ours as materialized (
    select h.id from unnest(%s::uuid[], %s::int[]) as h(id, attempt) cross join lateral (
        select r.attempt = h.attempt and r.status = 'running' as is_ours
        from scores_workflowrun r where r.id = h.id offset 0 for no key update
    ) locked where is_ours
)
update scores_workflowrun r set {changes} where r.id = any(array(select id from ours))
"""
_RENEW = _OURS.format(changes="leased_until = clock_timestamp() + %s")
_GIVE_BACK = _OURS.format(changes="status = 'pending', leased_until = null")


def take(grader_id: UUID, *, limit: int, background: int = 0) -> list[ClaimedRun]:
    """Claim up to `limit` pending runs of a grader, by priority, then age. They are ours until the lease ends.

    It never waits: runs that another process has locked are skipped, so the result may be empty.

    background  how many of them may be of background purposes if other runs could fill the claim (BackgroundShare)
    """
    take_rows = _take_postgres if connection.vendor == "postgresql" else _take_embedded
    return sorted(
        (ClaimedRun(*row) for row in take_rows(grader_id, limit, background)),
        key=lambda run: (-run.priority, run.run_id),
    )


def claimed_under(run: WorkflowRun, attempt: int) -> ClaimedRun:
    """The run as the attempt holds it whose answer comes later."""
    return ClaimedRun(
        run.pk, run.completion_id, run.task_id, run.organization_id, attempt, run.panel_size, run.deadline_at,
        run.failures, run.error_code, run.error_repeats, run.priority, run.generation, run.purpose,
        run.grader_version_id,
    )  # fmt: skip


def renew(runs: Sequence[ClaimedRun]) -> None:
    """Extend the leases of runs whose call is not answered yet, except those that another process has claimed since."""
    if connection.vendor == "postgresql":
        _update_ours(_RENEW, runs, LEASE)
        return
    until = database_now() + LEASE
    for leased in _ours(runs):
        leased.update(leased_until=until)


def give_back(runs: Sequence[ClaimedRun]) -> None:
    """Return claimed runs that were not sent to the grader, so that another drain can claim them."""
    if connection.vendor == "postgresql":
        _update_ours(_GIVE_BACK, runs)
        return
    for leased in _ours(runs):
        leased.update(status=RunStatus.PENDING, leased_until=None)


def rest(grader_id: UUID, until: datetime, reason: str, *, limit: int | None = None) -> int:
    """Put the first due runs of a grader to sleep until it may be called again. Return their number.

    The other runs stay due: no drain claims them while the grader is paused, and writing all of them would cost more
    than the wait.
    """
    limit = limit or (RESTED_BRIEFLY if reason == pauses.RATE_LIMITED else RESTED)
    with transaction.atomic():
        due = WorkflowRun.objects.filter(grader_id=grader_id, status=RunStatus.PENDING)
        locked = due.order_by("-priority", "pk").select_for_update(skip_locked=True, no_key=True)
        runs = list(locked.only("attempt", "steps")[:limit])
        for run in runs:
            run.status, run.waits_for, run.wake_at = RunStatus.SLEEPING, WaitKind.GRADER, until
            run.steps = appended(run.steps, entry("hold", run.attempt, reason, wake_at=until))
        WorkflowRun.objects.bulk_update(runs, ["status", "waits_for", "wake_at", "steps"], batch_size=RESTED)
    return len(runs)


def _update_ours(statement: str, runs: Sequence[ClaimedRun], *values: Any) -> None:
    runs = sorted(runs, key=lambda run: run.run_id)
    with connection.cursor() as cursor:
        cursor.execute(statement, [[run.run_id for run in runs], [run.attempt for run in runs], *values])


def _ours(runs: Sequence[ClaimedRun]) -> Iterator[WorkflowRunQuerySet]:
    """The runs that our lease still holds, a queryset for each attempt number."""
    by_attempt: dict[int, list[UUID]] = {}
    for run in runs:
        by_attempt.setdefault(run.attempt, []).append(run.run_id)
    for attempt, run_ids in by_attempt.items():
        yield WorkflowRun.objects.filter(pk__in=run_ids, attempt=attempt, status=RunStatus.RUNNING)


def _take_postgres(grader_id: UUID, limit: int, background: int) -> Sequence[tuple]:
    most = min(limit, max(1, background))
    values: list[Any] = [grader_id, limit, grader_id, most, background, limit, limit, LEASE]
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        rows = cursor.fetchall()
        if len(rows) < limit and sum(row[_PRIORITY] == BACKGROUND_PRIORITY for row in rows) == most:
            values = [grader_id, limit - len(rows), LEASE]
            cursor.execute(_CLAIM_BACKGROUND, values)
            rows += cursor.fetchall()
        return rows


def _take_embedded(grader_id: UUID, limit: int, background: int) -> Sequence[tuple]:
    """SQLite has one writer: the immediate transaction is the lock."""
    with transaction.atomic():
        due = WorkflowRun.objects.filter(grader_id=grader_id, status__in=transitions.sources(RunStatus.RUNNING))
        first = due.filter(priority__gt=BACKGROUND_PRIORITY).order_by("-priority", "id")
        run_ids = list(first.values_list("pk", flat=True)[:limit])
        if room := max(background, limit - len(run_ids)):
            later = (
                due.filter(priority__lte=BACKGROUND_PRIORITY)
                .order_by("-priority", "id")
                .values_list("pk", flat=True)[:room]
            )
            background_ids = list(later)
            run_ids = background_ids + run_ids[: limit - len(background_ids)]
        if not run_ids:
            return []
        now = datetime.now(UTC)
        WorkflowRun.objects.filter(pk__in=run_ids).update(
            status=RunStatus.RUNNING,
            attempt=F("attempt") + 1,
            leased_until=now + LEASE,
            started_at=Coalesce(F("started_at"), now),
        )
        return list(WorkflowRun.objects.filter(pk__in=run_ids).values_list(*_COLUMNS))
