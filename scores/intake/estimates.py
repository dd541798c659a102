"""Estimate how long a submission takes, from the queue ahead of it and the recent speed of its graders.

A process measures a grader's queue and speed from time to time, and keeps a measurement for much longer than it took.
Estimates in between use the last measurement, so a submission costs the same for any length of the queue.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Max, Min, QuerySet, Sum

from autotune.core.clock import database_now, shared_now
from graders.models import Grader, GraderStatistic, Tally
from scores.models import WorkflowRun
from scores.states import RunStatus
from tasks.states import Priority

KEPT_S: Final = 10.0
KEPT_FACTOR: Final = 50  # a measurement is kept for this many times its own duration
COUNTED: Final = 250_000  # most runs counted of one priority; a longer queue counts as this long
RATE_PERIOD: Final = timedelta(minutes=1)
LATENCY_PERIOD: Final = timedelta(hours=1)
TALLIES: Final = 5  # a rate needs at least this many saves, over at least a second
ASSUMED_RATE: Final = 2_000  # completions a second, for a grader whose speed under load is not measured yet
BURST_S: Final = 10  # a rate limit allows this many seconds' worth of calls at once (graders/guards)
ASSUMED_CAPACITY: Final = 1_000  # completions that another organization's grader is assumed to judge at a time


@dataclass(slots=True)
class _Load:
    """The measurement of a grader taken at `at` and valid until `until` (both monotonic).

    queued      pending runs by priority; this process adds what it submits
    rate        completions scored a second while others waited; None if unknown
    latency_ms  average latency of its calls; None if there were no recent calls
    """

    queued: dict[int, int]
    rate: float | None
    latency_ms: float | None
    at: float
    until: float


_loads: dict[UUID, _Load] = {}
_MOST_LOADS: Final = 10_000


def forget() -> None:
    """Discard all measurements; benchmarks do it before they measure again."""
    _loads.clear()


def milliseconds(grader: Grader, submitted: Mapping[int, int], organization_id: UUID) -> int:
    """The time until a grader has scored the completions that were just submitted.

    submitted        completions by priority, already stored in the caller's transaction
    organization_id  the submitter's. For another organization's grader the time is rounded up to steps of 1, 2, 5, …
    """
    own_count = sum(submitted.values())
    load = _load(grader, submitted)
    ahead = sum(count for priority, count in load.queued.items() if priority >= min(submitted))
    scored = _rate_of(grader, load) * (time.monotonic() - load.at)
    total = max(own_count, round(ahead - scored))
    pause_ms = _pause_ms(grader)
    if grader.organization_id == organization_id:
        return pause_ms + _work_ms(grader, load, total)
    latency_ms = coarse(grader.avg_latency_ms)
    own_ms = -(-own_count // ASSUMED_CAPACITY) * latency_ms
    if total <= own_count and not pause_ms:
        return own_ms
    return coarse(pause_ms + max(own_ms, _work_ms(grader, load, total)))


def coarse(milliseconds: int) -> int:
    """Round up to the next of 1, 2, 5, 10, 20, 50, …; 0 stays 0."""
    steps = (head * 10**zeros for zeros in range(15) for head in (1, 2, 5))
    return next(step for step in steps if step >= milliseconds) if milliseconds else 0


def _latency_of(grader: Grader, load: _Load) -> float:
    """Milliseconds of a call: measured, or declared by the grader."""
    return grader.avg_latency_ms if load.latency_ms is None else load.latency_ms


def _rate_of(grader: Grader, load: _Load) -> float:
    """Completions per second: measured under load, or derived from latency and limits."""
    if load.rate:
        return load.rate
    by_calls = grader.max_batch_size * grader.max_concurrency / max(_latency_of(grader, load), 0.1) * 1000
    by_limit = (grader.rate_per_minute or float("inf")) / 60
    return min(by_calls, by_limit, ASSUMED_RATE)


def _work_ms(grader: Grader, load: _Load, total: int) -> int:
    """Milliseconds from the first call until the last of `total` completions is scored."""
    latency_ms = _latency_of(grader, load)
    calls = -(-total // grader.max_batch_size)
    by_calls = -(-calls // grader.max_concurrency) * latency_ms
    by_limit = 0.0
    if grader.rate_per_minute:
        per_s = grader.rate_per_minute / 60
        by_limit = max(0.0, total / per_s - BURST_S) * 1000
    if load.rate and total > load.rate:  # a queue of over a second: its measured speed is better than the declared one
        by_speed = total / load.rate * 1000 + latency_ms
        return round(max(by_speed, by_limit))
    by_platform = total / ASSUMED_RATE * 1000 if total > ASSUMED_RATE else 0.0
    return round(max(by_calls, by_limit, by_platform))


def _pause_ms(grader: Grader) -> int:
    """Milliseconds until the grader may be called again: its limit, its circuit or its health holds it."""
    if grader.held_until is None:
        return 0
    return max(0, round((grader.held_until - shared_now()) / timedelta(milliseconds=1)))


def _load(grader: Grader, submitted: Mapping[int, int]) -> _Load:
    """The grader's measurement, with the completions that were just submitted."""
    previous = _loads.get(grader.pk)
    started = time.monotonic()
    if previous is not None and started < previous.until:
        for priority, count in submitted.items():
            previous.queued[priority] = previous.queued.get(priority, 0) + count
        return previous
    if len(_loads) >= _MOST_LOADS:
        _loads.clear()
    load = _measure(grader.pk, previous)
    load.at = time.monotonic()
    load.until = load.at + max(KEPT_S, KEPT_FACTOR * (load.at - started))
    _loads[grader.pk] = load
    return load


def _measure(grader_id: UUID, previous: _Load | None) -> _Load:
    queued: dict[int, int] = {}
    oldest: list[datetime] = []
    for priority in Priority.values:
        # A range, in the order of the index of due runs, keeps PostgreSQL from walking the primary key.
        pending = WorkflowRun.objects.filter(grader_id=grader_id, status=RunStatus.PENDING)
        waiting = pending.filter(priority__gte=priority, priority__lte=priority).order_by("-priority", "pk")
        oldest_of_priority = waiting.values_list("created_at", flat=True).first()
        if oldest_of_priority is not None:
            oldest.append(oldest_of_priority)
            queued[priority] = _count(waiting)
    rate = _rate(grader_id, min(oldest)) if oldest else None
    if rate is None and oldest and previous and time.monotonic() - previous.at < RATE_PERIOD.total_seconds():
        rate = previous.rate  # the tallies were folded a moment ago
    now = time.monotonic()
    return _Load(queued, rate, _latency_ms(grader_id), now, now)


def _count(waiting: QuerySet[WorkflowRun]) -> int:
    """Count runs in the order of their index, at most COUNTED."""
    if connection.vendor != "postgresql":
        return waiting[:COUNTED].count()
    # A long queue in a long history: PostgreSQL would read every run, although all it needs is in the index.
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("select set_config('enable_seqscan', 'off', true)")
        count = waiting[:COUNTED].count()
        cursor.execute("select set_config('enable_seqscan', 'on', true)")
    return count


def _rate(grader_id: UUID, since: datetime) -> float | None:
    """Completions a second since the oldest waiting run arrived: the grader had work for all of that time."""
    tallies = Tally.objects.filter(grader_id=grader_id, at__gte=max(since, database_now() - RATE_PERIOD))
    saves = tallies.aggregate(scored=Sum("scored"), first=Min("at"), last=Max("at"), number=Count("pk"))
    if saves["number"] < TALLIES:
        return None
    span_s = (saves["last"] - saves["first"]).total_seconds()
    # The first save belongs to the time before the span.
    return saves["scored"] * (1 - 1 / saves["number"]) / span_s if span_s >= 1 and saves["scored"] else None


def _latency_ms(grader_id: UUID) -> float | None:
    """Average latency of the calls of the last hour; each completion counts with the latency of its call."""
    since = database_now() - LATENCY_PERIOD
    sources = [
        GraderStatistic.objects.filter(grader_id=grader_id, start__gte=since),
        Tally.objects.filter(grader_id=grader_id, at__gte=since),
    ]
    totals = [rows.aggregate(scored=Sum("scored"), latency_ms=Sum("latency_sum_ms")) for rows in sources]
    scored = sum(total["scored"] or 0 for total in totals)
    return sum(total["latency_ms"] or 0.0 for total in totals) / scored if scored else None
