"""The spread of a selection's scores by task and model: from counters where they cover it, otherwise from the rows.

Both return the same whole numbers, so a figure from either source is the same to the last digit.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, Count, JSONField, Q, QuerySet, Sum, Value

from autotune.access import policy
from autotune.core import fixedpoint
from autotune.core.fixedpoint import Moments
from graders.models import GraderVersion
from scores.counters import bins, building
from scores.counters.folding import HOUR, SQUARES, TOTAL
from scores.models import ScoreCount, ScoreTally
from scores.models.counters import NO_TASK, CountSpan
from scores.results import filters
from scores.results.filters import Selection
from scores.states import ScoreStanding

DAY = timedelta(days=1)


@dataclass(slots=True)
class ScoreSpread:
    """The Moments of the scores that count, by task and model, and the number of scores in each bin."""

    parts: dict[tuple[UUID, str], Moments] = field(default_factory=dict)
    bins: dict[int, int] = field(default_factory=dict)

    def moments(self) -> Moments:
        """The Moments of all parts together."""
        total = Moments()
        for part in self.parts.values():
            total.add(part.count, part.total, part.squares)
        return total

    def by_model(self) -> dict[str, Moments]:
        """The Moments of each model that has a score."""
        models: dict[str, Moments] = {}
        for (_, model), part in self.parts.items():
            models.setdefault(model, Moments()).add(part.count, part.total, part.squares)
        return models

    def tasks(self) -> set[UUID]:
        """The tasks that have a score."""
        return {task for task, _ in self.parts}


def of(selection: Selection) -> ScoreSpread:
    """The spread of the selection's scores that count."""
    return from_counters(selection) if is_counted(selection) else from_rows(filters.counted(selection))


def is_counted(selection: Selection) -> bool:
    """Whether counters cover the selection: no bounds on value or confidence, dates on whole hours, and a reader who
    sees all scores of the tasks."""
    query = selection.query
    return (
        query.min_score is None
        and query.max_score is None
        and query.min_confidence is None
        and _is_whole_hour(selection.start)
        and _is_whole_hour(selection.end)
        and policy.reach(selection.principal, "scores", "read") in ("organization", "all")
        and not building.is_behind(selection.task)
    )


def from_counters(selection: Selection) -> ScoreSpread:
    """The spread from the counters. One statement reads counters and fresh tallies, since folding moves them."""
    spread = ScoreSpread()
    for task, model, number, *sums, content, is_fresh in _statement(selection):
        if is_fresh:
            spread.parts.setdefault((task, model), Moments()).note(content, number)
            for units in content:
                _add(spread.bins, bins.bin_of(units), number)
        elif content is not None:
            for bin_, count in content.items():
                _add(spread.bins, int(bin_), count)
        else:
            total, squares = fixedpoint.joined(sums[: len(TOTAL)]), fixedpoint.joined(sums[len(TOTAL) :])
            spread.parts.setdefault((task, model), Moments()).add(int(number), total, squares)
    spread.parts = {key: part for key, part in spread.parts.items() if part.count}
    spread.bins = {bin_: count for bin_, count in spread.bins.items() if count}
    return spread


def _statement(selection: Selection) -> QuerySet[Any]:
    """(task, model, number, *sums, bins or units, whether it is a tally): the sums by task and model, the bins, and the
    fresh tallies."""
    within = _within(selection.start, selection.end)
    folded = _matching(selection, ScoreCount.objects.exclude(task_id=NO_TASK)).filter(within)
    binned = folded
    if not (selection.task or selection.query.model_id or selection.grader or selection.grader_version):
        binned = _matching(selection, ScoreCount.objects.filter(task_id=NO_TASK)).filter(within)
    fresh = _matching(selection, ScoreTally.objects.all())
    if selection.start:
        fresh = fresh.filter(hour__gte=selection.start)
    if selection.end:
        fresh = fresh.filter(hour__lt=selection.end)
    nothing = Value(None, output_field=JSONField())
    zeros = [Value(0, output_field=BigIntegerField()) for _ in (*TOTAL, *SQUARES)]
    by_part = folded.order_by().values("task_id", "model_id").annotate(n=Sum("number"))
    summed = [Sum(name) for name in (*TOTAL, *SQUARES)]
    by_part = by_part.annotate(**{f"s{place}": part for place, part in enumerate(summed)})
    names = [f"s{place}" for place in range(len(summed))]
    rows = by_part.values_list("task_id", "model_id", "n", *names, nothing, Value(False))
    return rows.union(
        binned.values_list("task_id", "model_id", "number", *zeros, "bins", Value(False)),
        fresh.values_list("task_id", "model_id", "sign", *zeros, "units", Value(True)),
        all=True,
    )


def from_rows(scores: Any) -> ScoreSpread:
    """The spread from the scores, in two passes over them."""
    rows = scores.order_by().values("task_id", "completion__model_id").annotate(**fixedpoint.sums("value"))
    columns = ("task_id", "completion__model_id", *fixedpoint.sums("value"))
    parts = {(task, model): fixedpoint.moments(sums) for task, model, *sums in rows.values_list(*columns)}
    binned = scores.order_by().annotate(bin=bins.expression("value")).values("bin").annotate(n=Count("pk"))
    return ScoreSpread(parts, dict(binned.values_list("bin", "n")))


def _matching(selection: Selection, rows: QuerySet[Any]) -> QuerySet[Any]:
    """The tallies or counters of the selection, without its dates."""
    principal, query = selection.principal, selection.query
    rows = rows.filter(standing=ScoreStanding.COUNTS, held_out=False, source__in=selection.sources)
    if selection.task:
        rows = rows.filter(task_id=selection.task)
    if policy.reach(principal, "scores", "read") == "organization":
        rows = rows.filter(organization_id=principal.organization.pk)
    if query.model_id is not None:
        rows = rows.filter(model_id=query.model_id)
    if selection.grader:
        versions = GraderVersion.objects.filter(grader_id=selection.grader).values_list("pk", flat=True)
        rows = rows.filter(grader_version_id__in=list(versions))
    if selection.grader_version:
        rows = rows.filter(grader_version_id=selection.grader_version)
    return rows


def _within(start: datetime | None, end: datetime | None) -> Q:
    """The counters that cover the time from `start` until before `end`: whole days, and hours at both ends."""
    if start is None and end is None:
        return Q(span=CountSpan.EVER)
    first = None if start is None else start + -(start - _midnight(start)) % DAY
    last = None if end is None else _midnight(end)
    if first is not None and last is not None and first >= last:
        return Q(span=CountSpan.HOUR, start__gte=start, start__lt=end)
    days, hours = Q(span=CountSpan.DAY), Q(pk=None)
    if first is not None:
        days &= Q(start__gte=first)
        hours |= Q(span=CountSpan.HOUR, start__gte=start, start__lt=first)
    if last is not None:
        days &= Q(start__lt=last)
        hours |= Q(span=CountSpan.HOUR, start__gte=last, start__lt=end)
    return days | hours


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _is_whole_hour(moment: datetime | None) -> bool:
    return moment is None or (moment - _midnight(moment)) % HOUR == timedelta()


def _add(counts: dict[int, int], bin_: int, count: int) -> None:
    counts[bin_] = counts.get(bin_, 0) + count
