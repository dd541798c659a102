"""How long a submission will take: from the queue ahead of it, and from what its graders did lately.

A process measures a grader's queue and speed now and then and estimates from that in between, so a submission costs the
same however long the queue is: what was measured is kept for much longer than the measuring took.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Max, Min, Sum

from autotune.core.clock import database_now, shared_now
from graders.models import Grader, GraderStatistic, Tally
from scores.models import WorkflowRun
from scores.states import RunStatus
from tasks.states import Priority

KEPT_S: Final = 5.0
LEISURE: Final = 50  # what was measured is kept for so many times as long as it took
COUNTED: Final = 250_000  # runs of one priority; a longer queue is taken for so long
LATELY: Final = timedelta(minutes=1)
LATENCIES: Final = timedelta(hours=1)
TALLIES: Final = 5  # with fewer saves, or within less than a second, a speed says nothing
SUPPOSED_RATE: Final = 2_000  # completions a second, of a grader whose speed under load was not measured yet
BURST_S: Final = 10  # of a rate limit: so many seconds' worth goes out at once (graders/guards)
SUPPOSED_CAPACITY: Final = 1_000  # completions that another organization's grader is supposed to judge at a time


@dataclass(slots=True)
class _Load:
    """What was measured of a grader at `at`, good until `until` (both monotonic).

    queued      pending runs by priority; what this process submits is added
    rate        completions scored a second while others waited; None where that is not known
    latency_ms  of its calls, on average; None where it was not called lately
    """

    queued: dict[int, int]
    rate: float | None
    latency_ms: float | None
    at: float
    until: float


_loads: dict[UUID, _Load] = {}
_MOST_LOADS: Final = 10_000


def forget() -> None:
    """Measure everything anew."""
    _loads.clear()


def milliseconds(grader: Grader, submitted: Mapping[int, int], organization_id: UUID) -> int:
    """How long it takes until a grader has scored what was just submitted to it.

    submitted        completions by priority, stored already in the caller's transaction
    organization_id  who submitted. Of another organization's grader the time alone is told, in steps of 1, 2, 5, …
    """
    own = sum(submitted.values())
    load = _load(grader, submitted)
    ahead = sum(count for priority, count in load.queued.items() if priority >= min(submitted))
    scored = _rate_of(grader, load) * (time.monotonic() - load.at)
    total = max(own, round(ahead - scored))
    pause_ms = _pause_ms(grader)
    if grader.organization_id == organization_id:
        return pause_ms + _work_ms(grader, load, total)
    latency_ms = coarse(grader.avg_latency_ms)
    alone_ms = -(-own // SUPPOSED_CAPACITY) * latency_ms
    if total <= own and not pause_ms:
        return alone_ms
    return coarse(pause_ms + max(alone_ms, _work_ms(grader, load, total)))


def coarse(milliseconds: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, … that is not less; 0 for 0."""
    steps = (head * 10**zeros for zeros in range(15) for head in (1, 2, 5))
    return next(step for step in steps if step >= milliseconds) if milliseconds else 0


def _latency_of(grader: Grader, load: _Load) -> float:
    """Milliseconds of a call: measured, or as the grader declares."""
    return grader.avg_latency_ms if load.latency_ms is None else load.latency_ms


def _rate_of(grader: Grader, load: _Load) -> float:
    """Completions a second: measured under load, or what latency and limits allow."""
    if load.rate:
        return load.rate
    by_calls = grader.max_batch_size * grader.max_concurrency / max(_latency_of(grader, load), 0.1) * 1000
    by_limit = (grader.rate_per_minute or float("inf")) / 60
    return min(by_calls, by_limit, SUPPOSED_RATE)


def _work_ms(grader: Grader, load: _Load, total: int) -> int:
    """The last of `total` completions is scored so many milliseconds after the first call."""
    latency_ms = _latency_of(grader, load)
    calls = -(-total // grader.max_batch_size)
    by_calls = -(-calls // grader.max_concurrency) * latency_ms
    by_limit = 0.0
    if grader.rate_per_minute:
        per_s = grader.rate_per_minute / 60
        by_limit = max(0.0, total / per_s - BURST_S) * 1000
    if load.rate and total > load.rate:  # a queue of over a second: its speed is known better than the grader's
        by_speed = total / load.rate * 1000 + latency_ms
        return round(max(by_speed, by_limit))
    by_platform = total / SUPPOSED_RATE * 1000 if total > SUPPOSED_RATE else 0.0
    return round(max(by_calls, by_limit, by_platform))


def _pause_ms(grader: Grader) -> int:
    """How long the grader may not be called from now on: its limit, its circuit, or its health."""
    if grader.held_until is None:
        return 0
    return max(0, round((grader.held_until - shared_now()) / timedelta(milliseconds=1)))


def _load(grader: Grader, submitted: Mapping[int, int]) -> _Load:
    """What is known of the grader, with what was just submitted."""
    known = _loads.get(grader.pk)
    begun = time.monotonic()
    if known is not None and begun < known.until:
        for priority, count in submitted.items():
            known.queued[priority] = known.queued.get(priority, 0) + count
        return known
    if len(_loads) >= _MOST_LOADS:
        _loads.clear()
    load = _measured(grader.pk, known)
    load.at = time.monotonic()
    load.until = load.at + max(KEPT_S, LEISURE * (load.at - begun))
    _loads[grader.pk] = load
    return load


def _measured(grader_id: UUID, known: _Load | None) -> _Load:
    queued: dict[int, int] = {}
    oldest: list[datetime] = []
    for priority in Priority.values:
        # As a range and in the order of the index of due runs, so that PostgreSQL does not walk the primary key.
        pending = WorkflowRun.objects.filter(grader_id=grader_id, status=RunStatus.PENDING)
        waiting = pending.filter(priority__gte=priority, priority__lte=priority).order_by("-priority", "pk")
        first = waiting.values_list("created_at", flat=True).first()
        if first is not None:
            oldest.append(first)
            queued[priority] = waiting[:COUNTED].count()
    rate = _rate(grader_id, min(oldest)) if oldest else None
    if rate is None and oldest and known is not None and time.monotonic() - known.at < LATELY.total_seconds():
        rate = known.rate  # the tallies were folded a moment ago
    now = time.monotonic()
    return _Load(queued, rate, _latency_ms(grader_id), now, now)


def _rate(grader_id: UUID, since: datetime) -> float | None:
    """Completions a second since the oldest run that waits came: all that time there was something to do."""
    lately = Tally.objects.filter(grader_id=grader_id, at__gte=max(since, database_now() - LATELY))
    saves = lately.aggregate(scored=Sum("scored"), first=Min("at"), last=Max("at"), number=Count("pk"))
    if saves["number"] < TALLIES:
        return None
    span_s = (saves["last"] - saves["first"]).total_seconds()
    # The first save ends the time before the span.
    return saves["scored"] * (1 - 1 / saves["number"]) / span_s if span_s >= 1 and saves["scored"] else None


def _latency_ms(grader_id: UUID) -> float | None:
    """Of the calls of the last hour; each completion counts with its call's."""
    since = database_now() - LATENCIES
    sums = [
        GraderStatistic.objects.filter(grader_id=grader_id, start__gte=since),
        Tally.objects.filter(grader_id=grader_id, at__gte=since),
    ]
    totals = [rows.aggregate(scored=Sum("scored"), latency_ms=Sum("latency_sum_ms")) for rows in sums]
    scored = sum(one["scored"] or 0 for one in totals)
    return sum(one["latency_ms"] or 0.0 for one in totals) / scored if scored else None
