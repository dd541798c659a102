"""Count each saved group of a grader's results, and read and sum the counters: folded and fresh rows together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Max, Min, QuerySet, Sum

from graders.models import NO_VERSION, GraderHour, GraderStatistic, Tally
from graders.statistics import latencies

BINS: Final = 10
COUNTERS: Final = ("scored", "value_sum", "histogram", "latency_sum_ms", "latencies", "errors")


def bin_of(value: float) -> int:
    """Return the bin of 0.1 that contains a score; the last one includes 1."""
    return min(int(value * BINS), BINS - 1)


def record(
    grader_id: UUID,
    version_id: UUID | None,
    *,
    values: Sequence[float],
    latency_ms: Sequence[float],
    errors: Mapping[str, int],
) -> None:
    """Count one saved group of results: insert one row in the caller's transaction, without waiting for a lock.

    values      the scores that were recorded
    latency_ms  the latencies of the calls, one for each scored completion, in any order
    errors      {code: completions}, one for each attempt on a completion that ended with the code
    """
    if not values and not errors:
        return
    histogram = [0] * BINS
    for value in values:
        histogram[bin_of(value)] += 1
    Tally.objects.create(
        grader_id=grader_id,
        version_id=version_id or NO_VERSION,
        scored=len(values),
        value_sum=sum(values),
        histogram=histogram,
        latency_sum_ms=sum(latency_ms),
        latencies=latencies.counted(latency_ms),
        errors=dict(errors),
    )


@dataclass(slots=True)
class CounterSums:
    """Sums of any number of rows of Tally or GraderStatistic; see Tally for the members."""

    scored: int = 0
    value_sum: float = 0.0
    histogram: list[int] = field(default_factory=lambda: [0] * BINS)
    latency_sum_ms: float = 0.0
    latencies: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        scored: int,
        value_sum: float,
        histogram: list[int],
        latency_sum_ms: float,
        latencies: dict[str, int],
        errors: dict[str, int],
    ) -> None:
        """Add a row's counters, in the order of COUNTERS."""
        self.scored += scored
        self.value_sum += value_sum
        self.latency_sum_ms += latency_sum_ms
        for place, count in enumerate(histogram):
            self.histogram[place] += count
        _add(self.latencies, latencies)
        _add(self.errors, errors)

    def values(self) -> dict[str, Any]:
        """The counters by column."""
        return {name: getattr(self, name) for name in COUNTERS}


def rows(grader_id: UUID, since: datetime | None, *, hours: datetime | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield (time, *COUNTERS) of every folded and fresh row since then, in one query because a fold moves rows.

    hours  a whole hour, from which on folded rows are read by the hour: a twelfth of the rows, the same sums
    """
    folded: QuerySet = GraderStatistic.objects.filter(grader_id=grader_id)
    fresh: QuerySet = Tally.objects.filter(grader_id=grader_id)
    if since is not None:
        folded, fresh = folded.filter(start__gte=since), fresh.filter(at__gte=since)
    parts = [fresh.values_list("at", *COUNTERS)]
    if hours is not None:
        folded = folded.filter(start__lt=hours)
        by_hour = GraderHour.objects.filter(grader_id=grader_id, start__gte=hours)
        parts.append(by_hour.values_list("start", *COUNTERS))
    return iter(folded.values_list("start", *COUNTERS).union(*parts, all=True))


def ends(grader_id: UUID) -> tuple[datetime, datetime] | None:
    """Return the first and the last time at which something was counted; None if nothing was."""
    folded = GraderStatistic.objects.filter(grader_id=grader_id).aggregate(first=Min("start"), last=Max("start"))
    fresh = Tally.objects.filter(grader_id=grader_id).aggregate(first=Min("at"), last=Max("at"))
    times = [moment for moment in (*folded.values(), *fresh.values()) if moment is not None]
    return (min(times), max(times)) if times else None


def by_version(grader_id: UUID) -> dict[UUID, tuple[int, float]]:
    """Return how many completions each version scored, and the sum of the scores."""
    totals: dict[UUID, tuple[int, float]] = {}
    folded, fresh = (
        model.objects.filter(grader_id=grader_id).values_list("version_id").annotate(Sum("scored"), Sum("value_sum"))
        for model in (GraderHour, Tally)
    )
    for version_id, scored, value_sum in folded.union(fresh, all=True):
        before = totals.get(version_id, (0, 0.0))
        totals[version_id] = before[0] + scored, before[1] + value_sum
    return totals


def _add(sums: dict[str, int], counts: dict[str, int]) -> None:
    for key, count in counts.items():
        sums[key] = sums.get(key, 0) + count
