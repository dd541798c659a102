"""Detect queues and jobs that have stalled, with a few index look-ups. `/moving` and `/metrics` report the result.

A large backlog is not an error while the front of each grader's queue moves. A queue has stalled if its oldest run has
been due for DUE_S, no run of the grader is under a valid lease, and none was scored in that time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Min, OuterRef, Q, Subquery

from autotune.core.clock import database_now
from graders.models import Grader
from graders.states import GraderStatus
from scores.engine import pulses
from scores.models import Erasure, Score, WorkflowRun
from scores.retention import expiry
from scores.states import BACKGROUND_PRIORITY, PRIORITIES, ErasureStatus, RunStatus

UNRETAINED: Final = timedelta(hours=3)  # retention runs every hour
STILL: Final = timedelta(seconds=30)  # a queue whose front does not move for this long has stalled


@dataclass(frozen=True, slots=True)
class DueWork:
    """The state of due work at one moment.

    last_sweep       None before the first sweep
    oldest_due       when the oldest run that may be called now, or should have been woken, became due
    expired_leases   running runs whose worker is lost; the next sweep returns them
    oldest_expired   when the first of these leases ended
    still            (grader, next run) of the queues that have stalled
    erasing_still    since when no process has worked on an open erasure; None if no erasure is open
    retaining_still  when retention last finished, if that is too long ago and some text has a retention limit
    """

    now: datetime
    last_sweep: datetime | None
    oldest_due: datetime | None
    expired_leases: int
    oldest_expired: datetime | None
    still: frozenset[tuple[UUID, UUID]]
    erasing_still: datetime | None = None
    retaining_still: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Queue:
    """The queue of a grader that may be called now: the run that is claimed next, and since when it waits."""

    grader_id: UUID
    next_run: UUID
    due: datetime


def read() -> DueWork:
    """Read the state of due work at this moment, by the database's clock."""
    now, beats = database_now(), pulses.all_of_them()
    queues = _queues(now)
    overdue = WorkflowRun.objects.filter(status=RunStatus.SLEEPING, wake_at__lte=now).order_by("wake_at")
    sleeper = overdue.values_list("wake_at", flat=True).first()
    expired = WorkflowRun.objects.filter(status=RunStatus.RUNNING, leased_until__lt=now)
    oldest_expired = expired.aggregate(first=Min("leased_until"))["first"]
    return DueWork(
        now=now,
        last_sweep=beats.get(pulses.SWEEP),
        oldest_due=min((due for due in (sleeper, *(queue.due for queue in queues)) if due), default=None),
        expired_leases=expired.count() if oldest_expired else 0,
        oldest_expired=oldest_expired,
        still=frozenset(_still([queue for queue in queues if now - queue.due > STILL], now)),
        erasing_still=_erasing_still(beats.get(pulses.ERASE)),
        retaining_still=_retaining_still(beats.get(pulses.RETAIN), now),
    )


def _erasing_still(beat: datetime | None) -> datetime | None:
    waiting = Erasure.objects.exclude(status=ErasureStatus.COMPLETED).order_by("pk")
    oldest = waiting.values_list("created_at", flat=True).first()
    return oldest and max(filter(None, (oldest, beat)))


def _retaining_still(beat: datetime | None, now: datetime) -> datetime | None:
    return beat if beat is not None and now - beat > UNRETAINED and expiry.is_wanted() else None


def _queues(now: datetime) -> list[_Queue]:
    """The queue of each grader that may be called and has pending runs, with one index look-up for each priority."""
    free = Q(held_until=None) | Q(held_until__lte=now)
    graders = Grader.objects.live().exclude(status=GraderStatus.INACTIVE).filter(free)
    by_priority = {f"first_{place}": _first(value) for place, value in enumerate(PRIORITIES)}
    holds: dict[UUID, datetime | None] = {}
    firsts: list[UUID] = []
    for pk, held_until, *first_ids in graders.annotate(**by_priority).values_list("pk", "held_until", *by_priority):
        holds[pk] = held_until
        firsts += filter(None, first_ids)
    runs = WorkflowRun.objects.filter(pk__in=firsts).order_by("-priority", "pk")
    queues: dict[UUID, _Queue] = {}
    for pk, grader_id, created_at, priority in runs.values_list("pk", "grader_id", "created_at", "priority"):
        front = queues.get(grader_id)
        if front and priority == BACKGROUND_PRIORITY:
            continue  # it waits until the others are done, or for its small share
        due = max(created_at, holds[grader_id] or created_at)
        queues[grader_id] = _Queue(grader_id, front.next_run if front else pk, min(due, front.due) if front else due)
    return list(queues.values())


def _first(priority: int) -> Subquery:
    # A range, in the order of the index of due runs, keeps PostgreSQL from walking the primary key.
    pending = WorkflowRun.objects.filter(grader=OuterRef("pk"), status=RunStatus.PENDING)
    of_priority = pending.filter(priority__gte=priority, priority__lte=priority)
    return Subquery(of_priority.order_by("-priority", "pk").values("pk")[:1])


def _still(queues: Iterable[_Queue], now: datetime) -> Iterable[tuple[UUID, UUID]]:
    """The grader and the next run of each queue that has stalled."""
    next_runs = {queue.grader_id: queue.next_run for queue in queues}
    if not next_runs:
        return ()
    leased = WorkflowRun.objects.filter(status=RunStatus.RUNNING, leased_until__gte=now, grader_id__in=next_runs)
    busy = set(leased.values_list("grader_id", flat=True).distinct())
    newest = Score.objects.filter(grader=OuterRef("pk"), reused_from=None).order_by("-pk").values("created_at")[:1]
    scored = (
        Grader.objects.filter(pk__in=next_runs).annotate(scored_at=Subquery(newest)).filter(scored_at__gt=now - STILL)
    )
    busy |= set(scored.values_list("pk", flat=True))
    return [(grader_id, run_id) for grader_id, run_id in next_runs.items() if grader_id not in busy]
