"""Exact order statistics: counts say which bin a rank lies in, and an index reads the value at the rank within it."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from autotune.core import fixedpoint
from scores import filters
from scores.counters import bins
from scores.counters.spread import Spread
from scores.filters import Selection

NARROWED = 200  # tasks that a look into a bin names, so that the index on task and value serves it


def rows(selection: Selection, spread: Spread) -> Any:
    """The scores whose spread it is, by the tasks that have any: so the index on task and value finds a bin's."""
    scores = filters.counted(selection).order_by()
    tasks = spread.tasks()
    return scores.filter(task_id__in=tasks) if selection.task is None and len(tasks) <= NARROWED else scores


def quantiles(counts: Mapping[int, int], shares: Iterable[Fraction], scores: Any) -> list[float]:
    """The values at shares (0..1) of the way from the least to the greatest, linearly interpolated.

    counts  scores in each bin; at least one in all
    scores  the queryset that was counted
    """
    positions = [(sum(counts.values()) - 1) * share for share in shares]
    below = {position: int(position) for position in positions}
    ranks = {rank for first in below.values() for rank in (first, first + 1)}
    values = at(counts, (rank for rank in ranks if rank < sum(counts.values())), scores)
    found = []
    for position in positions:
        first = below[position]
        low = values[first]
        exact = low + (values.get(first + 1, low) - low) * (position - first)
        found.append(float(exact / fixedpoint.UNITS))
    return found


def at(counts: Mapping[int, int], ranks: Iterable[int], scores: Any) -> dict[int, int]:
    """The values, in units, at ranks from 0."""
    found: dict[int, int] = {}
    waiting = sorted(set(ranks))
    before = 0
    for bin_, count in sorted(counts.items()):
        inside = [rank for rank in waiting if before <= rank < before + count]
        if inside:
            exact = bins.point(bin_)
            if exact is None:
                found |= _read(scores, bin_, count, before, inside)
            else:
                found |= dict.fromkeys(inside, exact)
        before += count
    return found


def _read(scores: Any, bin_: int, count: int, before: int, ranks: list[int]) -> dict[int, int]:
    """The values at ranks within one bin, from whichever of its ends is nearer."""
    low, high = bins.edges(bin_)
    rows = scores.filter(value__gte=low, value__lte=high).alias(bin=bins.expression("value")).filter(bin=bin_)
    found = {}
    for group in _neighbours(ranks):
        first, last = group[0] - before, group[-1] - before
        if first > count // 2:
            ordered = rows.order_by("-value").values_list("value", flat=True)
            values = list(ordered[count - 1 - last : count - first])[::-1]
        else:
            values = list(rows.order_by("value").values_list("value", flat=True)[first : last + 1])
        amounts = [fixedpoint.units(value) for value in values] or [bin_ // 2 * bins.STEP]
        for place, rank in enumerate(group):  # a score that went since it was counted leaves its neighbour
            found[rank] = amounts[min(place, len(amounts) - 1)]
    return found


def _neighbours(ranks: list[int]) -> list[list[int]]:
    """Ranks that follow each other, together."""
    groups: list[list[int]] = []
    for rank in ranks:
        if groups and groups[-1][-1] == rank - 1:
            groups[-1].append(rank)
        else:
            groups.append([rank])
    return groups
