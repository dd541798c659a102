"""Exact order statistics: counts give the bin of a rank, and an index reads the value at the rank within the bin."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from autotune.core import fixedpoint
from scores.counters import bins
from scores.counters.spread import ScoreSpread
from scores.results import filters
from scores.results.filters import Selection

NARROWED = 200  # tasks that a query for a bin names, so that it can use the index on task and value


def rows(selection: Selection, spread: ScoreSpread) -> Any:
    """The scores of the spread, filtered by their tasks so that the index on task and value finds those of a bin."""
    scores = filters.counted(selection).order_by()
    tasks = spread.tasks()
    return scores.filter(task_id__in=tasks) if selection.task is None and len(tasks) <= NARROWED else scores


def quantiles(counts: Mapping[int, int], shares: Iterable[Fraction], scores: Any) -> list[float]:
    """The values at shares (0..1) of the way from the lowest to the highest, linearly interpolated.

    counts  scores in each bin; at least one score in total
    scores  the queryset that was counted
    """
    positions = [(sum(counts.values()) - 1) * share for share in shares]
    below = {position: int(position) for position in positions}
    ranks = {rank for first in below.values() for rank in (first, first + 1)}
    values = values_at(counts, (rank for rank in ranks if rank < sum(counts.values())), scores)
    quantile_values = []
    for position in positions:
        first = below[position]
        low = values[first]
        exact = low + (values.get(first + 1, low) - low) * (position - first)
        quantile_values.append(float(exact / fixedpoint.UNITS))
    return quantile_values


def values_at(counts: Mapping[int, int], ranks: Iterable[int], scores: Any) -> dict[int, int]:
    """The values, in units, at ranks that start at 0."""
    values: dict[int, int] = {}
    sorted_ranks = sorted(set(ranks))
    before = 0
    for bin_, count in sorted(counts.items()):
        inside = [rank for rank in sorted_ranks if before <= rank < before + count]
        if inside:
            exact = bins.point(bin_)
            if exact is None:
                values |= _read(scores, bin_, count, before, inside)
            else:
                values |= dict.fromkeys(inside, exact)
        before += count
    return values


def _read(scores: Any, bin_: int, count: int, before: int, ranks: list[int]) -> dict[int, int]:
    """The values at ranks within one bin, read from its nearer end."""
    low, high = bins.edges(bin_)
    rows = scores.filter(value__gte=low, value__lte=high).alias(bin=bins.expression("value")).filter(bin=bin_)
    by_rank = {}
    for group in _neighbours(ranks):
        first, last = group[0] - before, group[-1] - before
        if first > count // 2:
            ordered = rows.order_by("-value").values_list("value", flat=True)
            values = list(ordered[count - 1 - last : count - first])[::-1]
        else:
            values = list(rows.order_by("value").values_list("value", flat=True)[first : last + 1])
        amounts = [fixedpoint.units(value) for value in values] or [bin_ // 2 * bins.STEP]
        for place, rank in enumerate(group):  # if a score was deleted since the count, its neighbour is used
            by_rank[rank] = amounts[min(place, len(amounts) - 1)]
    return by_rank


def _neighbours(ranks: list[int]) -> list[list[int]]:
    """Group ranks that follow each other."""
    groups: list[list[int]] = []
    for rank in ranks:
        if groups and groups[-1][-1] == rank - 1:
            groups[-1].append(rank)
        else:
            groups.append([rank])
    return groups
