"""How the scores of a selection are spread: counts for a chart from which a range can be chosen, and the figures beside
it, in one pass of the database over the scores.

It counts on a grid of a thousand steps. Count, mean, deviation, lowest and highest are exact; a quantile lies between
the lowest and the highest score of its step, so it is exact where these are equal, and right to 0.001 elsewhere.
`scores/summary.py` has the exact ones, for twice the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

from django.db.models import Count, F, IntegerField, Max, Min, Q, Sum, Value
from django.db.models.functions import Cast, Floor, Least
from msgspec import structs

from scores import filters
from scores.filters import Selection

BUCKETS: Final = 20  # of the chart; a bucket is 0.05 broad
STEPS: Final = 1_000  # of the grid; a whole number of them is a bucket


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one or more scores. `std` is the population's."""

    count: int
    mean: float
    std: float
    low: float
    high: float
    p25: float
    p50: float
    p75: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """`counts` per bucket from 0 to 1, the last closed, of all that the other filters leave: the bounds of the score
    itself do not apply to them, so that what lies outside is there to be chosen again. `figures`: within the bounds."""

    counts: list[int]
    figures: Figures | None


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the grid. `whole` counts all of it, the rest is of what lies within the bounds."""

    at: int
    whole: int
    count: int
    total: float
    squares: float
    low: float
    high: float


def of(selection: Selection) -> Distribution:
    """Of the scores that figures rest on: no shadow ones, none that a newer one has replaced."""
    query = selection.query
    open_ = structs.replace(query, min_score=None, max_score=None)
    unbounded = Selection(selection.principal, open_, selection.start, selection.end, selection.owner)
    bounds = Q()
    if query.min_score is not None:
        bounds &= Q(value__gte=query.min_score)
    if query.max_score is not None:
        bounds &= Q(value__lte=query.max_score)
    return _from(_grid(filters.counted(unbounded), bounds))


def _grid(scores: Any, bounds: Q) -> list[_Step]:
    """The steps that have scores, in order. 0.15 begins a bucket though in binary it is a little less, hence the grain
    of a billionth."""
    within = bounds or None
    place = Cast(Floor(F("value") * float(STEPS) + 1e-9), IntegerField())
    rows = (
        scores.order_by()
        .annotate(step=Least(place, Value(STEPS - 1)))
        .values("step")
        .annotate(
            whole=Count("pk"),
            n=Count("pk", filter=within),
            total=Sum("value", filter=within),
            squares=Sum(F("value") * F("value"), filter=within),
            low=Min("value", filter=within),
            high=Max("value", filter=within),
        )
    )
    found = rows.values_list("step", "whole", "n", "total", "squares", "low", "high")
    return sorted(
        (_Step(at, whole, n, total or 0.0, squares or 0.0, low or 0.0, high or 0.0)
         for at, whole, n, total, squares, low, high in found),
        key=lambda step: step.at,
    )  # fmt: skip


def _from(grid: Sequence[_Step]) -> Distribution:
    counts = [0] * BUCKETS
    for step in grid:
        counts[step.at * BUCKETS // STEPS] += step.whole
    return Distribution(counts, _figures([step for step in grid if step.count]))


def _figures(grid: Sequence[_Step]) -> Figures | None:
    count = sum(step.count for step in grid)
    if not count:
        return None
    low, high = grid[0].low, grid[-1].high
    mean = min(max(sum(step.total for step in grid) / count, low), high)
    std = sqrt(max(0.0, sum(step.squares for step in grid) / count - mean * mean))
    quarter, half, three = (_quantile(grid, (count - 1) * share) for share in (0.25, 0.5, 0.75))
    return Figures(count, mean, std, low, high, quarter, half, three)


def _quantile(grid: Sequence[_Step], rank: float) -> float:
    """The value at a rank from 0, between neighbours by its fraction as the summary does."""
    below, above = _at(grid, int(rank)), _at(grid, int(rank) + 1)
    return below + (above - below) * (rank - int(rank))


def _at(grid: Sequence[_Step], rank: int) -> float:
    """The score at a whole rank, supposing those of a step to be evenly spread; the highest beyond the last."""
    before = 0
    for step in grid:
        if rank < before + step.count:
            spread = step.high - step.low
            return step.low + spread * (rank - before) / (step.count - 1) if step.count > 1 else step.low
        before += step.count
    return grid[-1].high
