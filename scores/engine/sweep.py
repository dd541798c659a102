"""The sweep: it returns expired leases, wakes sleeping runs, fails overdue runs, and finds due runs without a worker.

It also ends waits for late answers and reviewers when their time is over, and waits for a copy when its source is
final.

Every worker and beat run it, one at a time. It depends only on rows, so killing any process, flushing the broker or
restarting the database loses nothing.
"""

from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, Subquery

from autotune.core.clock import database_now
from graders.models import Grader
from graders.states import GraderStatus
from scores.engine import copies, pulses, recording, retries, settling, transitions, waits
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import SavedRun
from scores.engine.timeline import appended, entry
from scores.models import WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.reviews import decisions
from scores.states import LONG_AGO, RunStatus, WaitKind

PULSE = pulses.SWEEP
LOCK = 0x6175_746F_7377_6570  # one sweeper at a time, whatever its process
HELD_BY_NOBODY = (RunStatus.PENDING, RunStatus.SLEEPING)
_AWAITS_ANSWER = Q(status=RunStatus.WAITING, waits_for__in=waits.ANSWERABLE)
SAVED = ("pk", "completion_id", "task_id", "organization_id", "purpose")
GONE_MESSAGE = "The grader answered 410 Gone or was deleted, so it receives no more calls."
OVERDUE_AT_ONCE = 500
RETURNED_AT_ONCE = 2_000
ENDS_EVERY = 5  # passes
GUARD_EVERY = 60


def sweep(*, passes: int = 0) -> list[UUID]:
    """Run one pass. Return the graders that have due runs without a worker; none if another sweeper is running.

    passes  number of earlier passes of this sweeper; steps that read many rows run only in some passes
    """
    now = database_now()
    with transaction.atomic():
        if not _alone():
            return []
        _return_expired(now)
        _wake_sleepers(now)
    copies.sweep()
    facts = TaskFactsCache()
    if passes % ENDS_EVERY == 0:
        _wake_released()
        _end_overdue(facts, now)
        _end_waits(facts, now)
        _end_gone()
    if passes % GUARD_EVERY == 0:
        settling.settle_missed(facts, ever=passes == 0)
        pulses.begin(pulses.RETAIN)
    pulses.beat(PULSE, now)
    return due_graders(now)


def due_graders(now: datetime) -> list[UUID]:
    """Return the graders that may be called now and have pending runs, with one index look-up for each grader."""
    pending = WorkflowRun.objects.next_pending(OuterRef("pk")).values("pk")
    free = Q(held_until=None) | Q(held_until__lte=now)
    callable_graders = Grader.objects.live().exclude(status=GraderStatus.INACTIVE)
    due = callable_graders.filter(free).alias(pending=Subquery(pending)).filter(pending__isnull=False)
    return list(due.values_list("pk", flat=True))


def _alone() -> bool:
    """Whether no other sweeper is running; on SQLite the immediate transaction is the lock."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [LOCK])
        return cursor.fetchone()[0]


def _return_expired(now: datetime) -> None:
    """Make the runs of lost workers pending again. An expired lease does not count as a failed attempt."""
    lost_ids = _to_pending(
        WorkflowRun.objects.filter(status=RunStatus.RUNNING, leased_until__lt=now), leased_until=None
    )
    lost_runs = list(WorkflowRun.objects.filter(pk__in=lost_ids).only("attempt", "steps"))
    for run in lost_runs:
        run.steps = appended(run.steps, entry("lease", run.attempt, "worker_lost", ended=now))
    WorkflowRun.objects.bulk_update(lost_runs, ["steps"], batch_size=500)


def _wake_sleepers(now: datetime) -> None:
    asleep = WorkflowRun.objects.filter(status=RunStatus.SLEEPING)
    _to_pending(asleep.filter(wake_at__lte=now), wake_at=None, waits_for="")


def _wake_released() -> None:
    """Wake runs that sleep for a grader whose hold ended early: its circuit closed, or it is healthy again."""
    released = Grader.objects.filter(held_until=None, pk=OuterRef("grader"))
    asleep = WorkflowRun.objects.filter(Exists(released), status=RunStatus.SLEEPING, waits_for=WaitKind.GRADER)
    with transaction.atomic():
        _to_pending(asleep, wake_at=None, waits_for="")


def _to_pending(due: WorkflowRunQuerySet, **changes: str | None) -> list[UUID]:
    """Move the runs that are still due once they are locked, except those that others lock. Return the moved ids."""
    locked = due.order_by("pk").select_for_update(skip_locked=True, no_key=True)
    locked_ids = list(locked.values_list("pk", flat=True)[:RETURNED_AT_ONCE])
    if locked_ids:
        WorkflowRun.objects.filter(pk__in=locked_ids, status__in=transitions.sources(RunStatus.PENDING)).update(
            status=RunStatus.PENDING, **changes
        )
    return locked_ids


def _end_overdue(facts: TaskFactsCache, now: datetime) -> None:
    """Fail runs whose deadline has passed before a call: their grader is inactive, or the queue was too long."""
    for status in HELD_BY_NOBODY:
        # The order is that of the index. Without it, if statistics say that most runs are overdue, PostgreSQL reads the
        # table from its start until it has enough rows, and all of the table if there are none.
        overdue = WorkflowRun.objects.filter(status=status, deadline_at__gt=LONG_AGO, deadline_at__lt=now)
        overdue = overdue.order_by("deadline_at")
        runs = [SavedRun(*row) for row in overdue.values_list(*SAVED)[:OVERDUE_AT_ONCE]]
        if runs:
            recording.fail(runs, retries.OVERDUE.code, retries.OVERDUE.message, facts)


def _end_waits(facts: TaskFactsCache, now: datetime) -> None:
    """Fail runs whose late answer or review decision did not arrive in time."""
    late = WorkflowRun.objects.filter(_AWAITS_ANSWER, wake_at__lt=now).order_by("wake_at")
    groups: dict[str, list[SavedRun]] = {}
    for waits_for, *row in late.values_list("waits_for", *SAVED)[:OVERDUE_AT_ONCE]:
        groups.setdefault(waits_for, []).append(SavedRun(*row))
    for waits_for, runs in groups.items():
        rule = waits.WAITS[WaitKind(waits_for)]
        recording.fail(runs, rule.code, rule.message, facts)
    decisions.expire(now)


def _end_gone() -> None:
    """Fail the runs of graders that were deleted or are gone, also those that another process's drain returned."""
    deleted = Q(deleted_at__isnull=False)
    gone = Q(gone_at__isnull=False, status=GraderStatus.INACTIVE) | deleted
    runs, grader = WorkflowRun.objects, OuterRef("pk")
    first_runs = {
        "pending": runs.next_pending(grader),
        "sleeping": runs.next_resting(grader, RunStatus.SLEEPING),
        "unanswerable": runs.next_resting(grader, RunStatus.WAITING, waits_for__in=waits.ANSWERABLE),
    }
    has_open_runs = Q(pending__isnull=False) | Q(sleeping__isnull=False) | (deleted & Q(unanswerable__isnull=False))
    gone_graders = Grader.objects.filter(gone).alias(
        **{name: Subquery(run.values("pk")) for name, run in first_runs.items()}
    )
    for grader_id in gone_graders.filter(has_open_runs).values_list("pk", flat=True):
        fail_gone(grader_id)


def fail_gone(grader_id: UUID) -> int:
    """Fail the runs that wait for a grader that answered a signed 410 or was deleted. Return their number.

    A deleted grader's secrets are retired, so it cannot call back; a grader that answered 410 still can.
    """
    kinds = [Q(status=status) for status in HELD_BY_NOBODY]
    if Grader.objects.filter(pk=grader_id, deleted_at__isnull=False).exists():
        kinds.append(_AWAITS_ANSWER)
    facts, total = TaskFactsCache(), 0
    for kind in kinds:
        waiting = WorkflowRun.objects.filter(kind, grader_id=grader_id).values_list(*SAVED)
        while runs := [SavedRun(*row) for row in waiting[:OVERDUE_AT_ONCE]]:
            total += recording.fail(runs, "grader_gone", GONE_MESSAGE, facts)
    return total
