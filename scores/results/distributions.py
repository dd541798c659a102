"""Compute the distribution of a selection's scores: the counts of a chart, and figures such as mean and median.

Where counters cover the selection, this is exact and costs the same for any number of scores.

Otherwise one pass reads the scores, on a grid of a thousand steps. Count, mean, deviation, lowest and highest are
exact; a quantile lies between the lowest and the highest score of its step, so it is exact where these are equal, and
correct to 0.001 otherwise. Of tens of millions of scores it reads the newest NEWEST.
`scores/results/summary.py` has the exact ones, for twice the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Max, Min, Q, Value
from django.db.models.functions import Least
from msgspec import structs

from autotune.core import fixedpoint
from autotune.core.fixedpoint import FixedPointUnits, Moments
from scores.counters import bins, ranks, spread
from scores.models import Score
from scores.results import completion_filters, filters
from scores.results.filters import Selection

BUCKETS: Final = 20  # of the chart; a bucket is 0.05 broad
NEWEST: Final = 200_000  # scores of a task, a grader or an organization that are read
STEPS: Final = 1_000  # of the grid; a whole number of them is a bucket


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """The figures of one or more scores. `std` is the population's."""

    count: int
    mean: float
    std: float
    low: float
    high: float
    p25: float
    p50: float
    p75: float


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """The distribution of a selection. `counts` are per bucket from 0 to 1, the last closed; the bounds of the score do
    not apply to them, so that a reader can choose another range. `figures` are within the bounds.

    newest  how many of the newest scores were read, if there are more; None if all were read
    """

    counts: list[int]
    figures: ScoreFigures | None
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the grid. `whole` counts all of it, the rest is of what lies within the bounds."""

    at: int
    whole: int
    moments: Moments
    low: float
    high: float

    @property
    def count(self) -> int:
        return self.moments.count


def of(selection: Selection) -> ScoreDistribution:
    """Return the distribution of the scores that count: neither a shadow grader's, nor replaced by a newer one."""
    if spread.is_counted(selection):
        return _from_counters(selection)
    query = selection.query
    without_bounds = structs.replace(query, min_score=None, max_score=None)
    unbounded = Selection(selection.principal, without_bounds, selection.start, selection.end, selection.owner)
    bounds = Q()
    if query.min_score is not None:
        bounds &= Q(value__gte=query.min_score)
    if query.max_score is not None:
        bounds &= Q(value__lte=query.max_score)
    floor = _floor(unbounded)
    scores = completion_filters.narrow_by_id(filters.counted(unbounded), selection.start, selection.end)
    if floor is not None:
        scores = scores.filter(pk__gte=floor)
    return _from(_grid(scores, bounds), newest=None if floor is None else NEWEST)


def _from_counters(selection: Selection) -> ScoreDistribution:
    scores = spread.from_counters(selection)
    counts, moments = bins.histogram(scores.bins, BUCKETS), scores.moments()
    if moments.mean is None or moments.std is None:
        return ScoreDistribution(counts, None)
    shares = [Fraction(number, 4) for number in range(5)]
    low, quarter, half, three, high = ranks.quantiles(scores.bins, shares, ranks.rows(selection, scores))
    return ScoreDistribution(
        counts, ScoreFigures(moments.count, moments.mean, moments.std, low, high, quarter, half, three)
    )


def _floor(selection: Selection) -> UUID | None:
    """The first id of the NEWEST scores of the task, the grader or all that the caller sees; None if there are fewer.

    Indexes answer it, in a fraction of the time that the figures of so many rows take.
    """
    if _table_is_small():
        return None
    rows = selection.scoped(Score.objects.for_readers(selection.sources), "scores")
    if selection.grader and not selection.task:
        rows = rows.filter(grader_id=selection.grader)
    rows = completion_filters.narrow_by_id(rows, selection.start, selection.end).order_by("-pk")
    last_two = rows.values_list("pk", flat=True)[NEWEST - 1 : NEWEST + 1]
    return last_two[0] if len(last_two) > 1 else None


def _grid(scores: Any, bounds: Q) -> list[_Step]:
    """The steps that have scores, in order."""
    within = bounds or None
    place = ExpressionWrapper(FixedPointUnits(F("value")) / bins.STEP, BigIntegerField())
    sums = fixedpoint.sums("value", filter=within)
    rows = (
        scores.order_by()
        .annotate(step=Least(place, Value(STEPS - 1), output_field=BigIntegerField()))
        .values("step")
        .annotate(
            whole=Count("pk"), lowest=Min("value", filter=within), highest=Max("value", filter=within), **sums
        )
    )  # fmt: skip
    step_rows = rows.values_list("step", "whole", "lowest", "highest", *sums)
    return sorted(
        (_Step(index, whole, fixedpoint.moments(amounts), low or 0.0, high or 0.0)
         for index, whole, low, high, *amounts in step_rows),
        key=lambda step: step.at,
    )  # fmt: skip


def _table_is_small() -> bool:
    """Whether all scores together are fewer than NEWEST, as the database last counted; it need not have."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("select reltuples from pg_class where oid = %s::regclass", [Score._meta.db_table])
        return 0 <= cursor.fetchone()[0] < NEWEST * 9 // 10  # more may have come since


def _from(grid: Sequence[_Step], *, newest: int | None = None) -> ScoreDistribution:
    counts = [0] * BUCKETS
    for step in grid:
        counts[step.at * BUCKETS // STEPS] += step.whole
    return ScoreDistribution(counts, _figures([step for step in grid if step.count]), newest)


def _figures(grid: Sequence[_Step]) -> ScoreFigures | None:
    count = sum(step.count for step in grid)
    if not count:
        return None
    low, high = grid[0].low, grid[-1].high
    total = Moments()
    for step in grid:
        total.add(step.moments.count, step.moments.total, step.moments.squares)
    mean, std = min(max(total.mean or 0.0, low), high), total.std or 0.0
    quarter, half, three = (_quantile(grid, (count - 1) * share) for share in (0.25, 0.5, 0.75))
    return ScoreFigures(count, mean, std, low, high, quarter, half, three)


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
