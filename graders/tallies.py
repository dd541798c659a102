"""Counters of what graders did: the sums, and reading the folded and the fresh ones together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet, Sum

from graders.models import GraderStatistic, Tally

BINS: Final = 10
COUNTERS: Final = ("scored", "value_sum", "histogram", "latency_sum_ms", "latencies", "errors")


def bin_of(value: float) -> int:
    """The bin of 0.1 that a score falls into; the last one is closed."""
    return min(int(value * BINS), BINS - 1)


@dataclass(slots=True)
class Counters:
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


def rows(grader_id: UUID, since: datetime | None) -> Iterator[tuple[Any, ...]]:
    """(time, *COUNTERS) of every folded and fresh row since then, of one snapshot, since a fold moves rows."""
    folded: QuerySet = GraderStatistic.objects.filter(grader_id=grader_id)
    fresh: QuerySet = Tally.objects.filter(grader_id=grader_id)
    if since is not None:
        folded, fresh = folded.filter(start__gte=since), fresh.filter(at__gte=since)
    both = folded.values_list("start", *COUNTERS).union(fresh.values_list("at", *COUNTERS), all=True)
    return iter(both)


def by_version(grader_id: UUID) -> dict[UUID, tuple[int, float]]:
    """How many completions each version scored, and the sum of the scores."""
    found: dict[UUID, tuple[int, float]] = {}
    folded, fresh = (
        model.objects.filter(grader_id=grader_id).values_list("version_id").annotate(Sum("scored"), Sum("value_sum"))
        for model in (GraderStatistic, Tally)
    )
    for version_id, scored, value_sum in folded.union(fresh, all=True):
        before = found.get(version_id, (0, 0.0))
        found[version_id] = before[0] + scored, before[1] + value_sum
    return found


def _add(sums: dict[str, int], counts: dict[str, int]) -> None:
    for key, count in counts.items():
        sums[key] = sums.get(key, 0) + count
