"""The sweep: returns expired leases, wakes sleepers, ends what is overdue, and finds work that nobody holds.

Every worker and beat run it, one at a time. It rests on rows alone, so killing any process, flushing the broker or
restarting the database loses nothing.
"""

from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from autotune.core.clock import database_now
from graders.models import Grader
from graders.states import GraderStatus
from scores import recording, retries, settling, transitions
from scores.materials import Facts
from scores.models import WorkflowRun
from scores.querysets import RunQuerySet
from scores.statements import Saved
from scores.states import RunStatus

LOCK = 0x6175_746F_7377_6570  # one sweeper at a time, whatever its process
HELD_BY_NOBODY = (RunStatus.PENDING, RunStatus.SLEEPING)
SAVED = ("pk", "completion_id", "task_id", "organization_id", "panel_size")
GONE_MESSAGE = "The grader answered 410 Gone, or was deleted: it takes no more work."
OVERDUE_AT_ONCE = 500
RETURNED_AT_ONCE = 2_000
ENDS_EVERY = 5  # passes
GUARD_EVERY = 60


def sweep(*, passes: int = 0) -> list[UUID]:
    """One pass. The graders that have due runs which nobody holds; none if another sweeper is at it.

    passes  of this sweeper before; what has to look at many rows is done in some of them alone
    """
    with transaction.atomic():
        if not _alone():
            return []
        _return_expired()
        _wake_sleepers()
    facts = Facts()
    if passes % ENDS_EVERY == 0:
        _end_overdue(facts)
        _end_gone()
    if passes % GUARD_EVERY == 0:
        settling.settle_overlooked(facts, ever=passes == 0)
    return due_graders()


def due_graders() -> list[UUID]:
    """Graders that may be called and have pending runs: one index probe for each grader."""
    pending = WorkflowRun.objects.filter(grader=OuterRef("pk"), status=RunStatus.PENDING)
    callable_graders = Grader.objects.live().exclude(status=GraderStatus.INACTIVE)
    return list(callable_graders.filter(Exists(pending)).values_list("pk", flat=True))


def _alone() -> bool:
    """Whether no other sweeper is at work; on SQLite the immediate transaction is the lock."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [LOCK])
        return cursor.fetchone()[0]


def _return_expired() -> None:
    """Runs whose worker was lost: due again, for the next claim. An expired lease is no failed attempt."""
    _to_pending(
        WorkflowRun.objects.filter(status=RunStatus.RUNNING, leased_until__lt=database_now()), leased_until=None
    )


def _wake_sleepers() -> None:
    _to_pending(WorkflowRun.objects.filter(status=RunStatus.SLEEPING, wake_at__lte=database_now()), wake_at=None)


def _to_pending(due: RunQuerySet, **changes: None) -> None:
    """Move what is still so once it is locked; what somebody else holds is left to them."""
    locked = due.order_by("pk").select_for_update(skip_locked=True, no_key=True)
    held = list(locked.values_list("pk", flat=True)[:RETURNED_AT_ONCE])
    if held:
        WorkflowRun.objects.filter(pk__in=held, status__in=transitions.sources(RunStatus.PENDING)).update(
            status=RunStatus.PENDING, **changes
        )


def _end_overdue(facts: Facts) -> None:
    """Runs that no call may begin for any more: their grader is inactive, or the queue was too long."""
    now = database_now()
    for status in HELD_BY_NOBODY:  # one by one: each has its partial index, both together would read the whole table
        overdue = WorkflowRun.objects.filter(status=status, deadline_at__lt=now).values_list(*SAVED)
        runs = [Saved(*row) for row in overdue[:OVERDUE_AT_ONCE]]
        if runs:
            recording.fail(runs, retries.OVERDUE.code, retries.OVERDUE.message, facts)


def _end_gone() -> None:
    """What waits for graders that were deleted, or came back to ones that are gone from another process's drain."""
    gone = Q(gone_at__isnull=False, status=GraderStatus.INACTIVE) | Q(deleted_at__isnull=False)
    waiting = [Exists(WorkflowRun.objects.filter(grader=OuterRef("pk"), status=status)) for status in HELD_BY_NOBODY]
    for grader_id in Grader.objects.filter(gone, waiting[0] | waiting[1]).values_list("pk", flat=True):
        fail_gone(grader_id)


def fail_gone(grader_id: UUID) -> int:
    """Fail what waits for a grader that answered a signed 410, or was deleted. How many."""
    facts, total = Facts(), 0
    for status in HELD_BY_NOBODY:
        waiting = WorkflowRun.objects.filter(grader_id=grader_id, status=status).values_list(*SAVED)
        while runs := [Saved(*row) for row in waiting[:OVERDUE_AT_ONCE]]:
            total += recording.fail(runs, "grader_gone", GONE_MESSAGE, facts)
    return total
