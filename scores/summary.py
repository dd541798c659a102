"""Figures over a selection of scores, computed by the database."""

from typing import Any

from django.db import connection
from django.db.models import Aggregate, Avg, Count, F, FloatField, Max, Min, StdDev, Value
from django.db.models.functions import Floor, Least

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import ApiStruct
from scores import filters
from scores.filters import ScoreFilter
from scores.querysets import RunQuerySet, ScoreQuerySet

BINS = 10
FRACTIONS = (0.25, 0.5, 0.75, 0.95)


class PercentilesOut(ApiStruct):
    """Linearly interpolated."""

    p25: float
    p50: float
    p75: float
    p95: float


class DistributionOut(ApiStruct):
    """`std` is the population's."""

    mean: float
    std: float
    min: float
    max: float
    percentiles: PercentilesOut


class ModelSummary(ApiStruct):
    """One model's part. `mean` and `std` are null while it has no score."""

    model_id: str
    total_records: int
    unscored: int
    mean: float | None
    std: float | None


class SummaryOut(ApiStruct):
    """`scoreDistribution` is null without a score; `histogram` has 10 bins of 0.1, the last closed."""

    total_records: int
    unscored: int
    task_ids: list[str]
    model_ids: list[str]
    score_distribution: DistributionOut | None
    histogram: list[int]
    by_model: list[ModelSummary]


def of(query: ScoreFilter, principal: Principal) -> SummaryOut:
    """The figures over what `query` selects for this caller.

    raises Invalid or NotFound as filters.check does
    """
    selection = filters.check(query, principal)
    scores = filters.counted(selection).order_by()
    lacking = filters.unscored(selection).order_by()
    models = _by_model(scores, lacking)
    return SummaryOut(
        total_records=sum(model.total_records for model in models),
        unscored=sum(model.unscored for model in models),
        task_ids=[ids.encode("task", task) for task in sorted(scores.values_list("task_id", flat=True).distinct())],
        model_ids=[model.model_id for model in models if model.total_records],
        score_distribution=distribution(scores),
        histogram=histogram(scores),
        by_model=models,
    )


def distribution(rows: Any) -> DistributionOut | None:
    """How the `value`s of a queryset are spread; None without any."""
    figures = {
        "n": Count("value"),
        "mean": Avg("value"),
        "std": StdDev("value"),
        "low": Min("value"),
        "high": Max("value"),
    }
    if connection.vendor == "postgresql":
        figures |= {f"p{n}": _Percentile("value", fraction=part) for n, part in enumerate(FRACTIONS)}
    found = rows.aggregate(**figures)
    if not found["n"]:
        return None
    if connection.vendor == "postgresql":
        percentiles = [found[f"p{n}"] for n in range(len(FRACTIONS))]
    else:
        percentiles = [_interpolated(rows, found["n"], part) for part in FRACTIONS]
    return DistributionOut(found["mean"], found["std"], found["low"], found["high"], PercentilesOut(*percentiles))


def histogram(rows: Any) -> list[int]:
    """Counts of `value` in 10 bins of 0.1, the last closed."""
    binned = rows.annotate(bin=Least(Floor(F("value") * float(BINS)), Value(BINS - 1.0))).values("bin")
    counts = dict(binned.annotate(n=Count("pk")).values_list("bin", "n"))
    return [counts.get(float(number), 0) for number in range(BINS)]


class _Percentile(Aggregate):
    """`percentile_cont` of PostgreSQL. The fraction is one of our constants, so it stands in the text."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


def _interpolated(rows: Any, count: int, fraction: float) -> float:
    """The same figure where the database has no percentiles: the two neighbours of the rank, and the way between."""
    rank = (count - 1) * fraction
    below = int(rank)
    pair = list(rows.order_by("value").values_list("value", flat=True)[below : below + 2])
    return pair[0] + (pair[-1] - pair[0]) * (rank - below)


def _by_model(scores: ScoreQuerySet, lacking: RunQuerySet) -> list[ModelSummary]:
    """A row for each model that has a score or lacks one, by name."""
    figures = {
        model: (count, mean, std)
        for model, count, mean, std in scores.values("completion__model_id")
        .annotate(n=Count("pk"), mean=Avg("value"), std=StdDev("value"))
        .values_list("completion__model_id", "n", "mean", "std")
    }
    missing = dict(
        lacking.values("completion__model_id").annotate(n=Count("pk")).values_list("completion__model_id", "n")
    )
    nothing = (0, None, None)
    summaries = []
    for name in sorted(figures.keys() | missing.keys()):
        count, mean, std = figures.get(name, nothing)
        summaries.append(ModelSummary(name, count, missing.get(name, 0), mean, std))
    return summaries
