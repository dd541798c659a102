"""Compute figures over a selection of scores: from counters where they cover it, otherwise from the scores."""

from collections.abc import Mapping
from fractions import Fraction

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.fixedpoint import Moments
from scores.counters import bins, ranks, spread
from scores.counters.spread import ScoreSpread
from scores.results import filters
from scores.results.filters import ScoreFilter, Selection

BINS = 10
SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(19, 20))


class PercentilesOut(ApiStruct):
    """Percentiles, linearly interpolated."""

    p25: float
    p50: float
    p75: float
    p95: float


class DistributionOut(ApiStruct):
    """`std` is the population's. Values are rounded to twelve decimals."""

    mean: float
    std: float
    min: float
    max: float
    percentiles: PercentilesOut


class ModelSummary(ApiStruct):
    """The figures of one model. `mean` and `std` are null while it has no score."""

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
    """Return the figures over the scores that `query` selects for this caller.

    raises Invalid or NotFound as filters.check does
    """
    selection = filters.check(query, principal)
    scores = spread.of(selection)
    models = _by_model(scores.by_model(), filters.unscored_by_model(selection))
    return SummaryOut(
        total_records=sum(model.total_records for model in models),
        unscored=sum(model.unscored for model in models),
        task_ids=[ids.encode("task", task) for task in sorted(scores.tasks())],
        model_ids=[model.model_id for model in models if model.total_records],
        score_distribution=distribution(scores, selection),
        histogram=bins.histogram(scores.bins, BINS),
        by_model=models,
    )


def distribution(scores: ScoreSpread, selection: Selection) -> DistributionOut | None:
    """Return the distribution of a selection's values; None if there are none."""
    moments = scores.moments()
    if not moments.count or moments.mean is None or moments.std is None:
        return None
    shares = (Fraction(0), *SHARES, Fraction(1))
    low, *percentiles, high = ranks.quantiles(scores.bins, shares, ranks.rows(selection, scores))
    return DistributionOut(moments.mean, moments.std, low, high, PercentilesOut(*percentiles))


def _by_model(scored: Mapping[str, Moments], lacking: Mapping[str, int]) -> list[ModelSummary]:
    """A row for each model that has a score or lacks one, by name."""
    return [
        ModelSummary(
            name, (moments := scored.get(name, Moments())).count, lacking.get(name, 0), moments.mean, moments.std
        )
        for name in sorted(scored.keys() | lacking.keys())
    ]
