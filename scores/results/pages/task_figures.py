"""The charts of a task's page: the distribution of each model's scores, their means, and the means over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.urls import NoReverseMatch, reverse

from autotune import charts
from autotune.core import ids
from scores.results import comparisons, model_colours
from scores.results.comparisons import MeanDifference, ModelComparison, ModelFigures

MOST_MODELS: Final = 12  # in one chart
MOST_LINES: Final = 6
MOST_PAIRS: Final = 10
NONE_YET: Final = "No completion of this task has been scored yet."


@dataclass(frozen=True, slots=True)
class ComparisonFigures:
    """What the page shows of a comparison.

    single   models in the charts that have no interval, because they answered one prompt
    left_out how many models are not in the charts
    pairs    the greatest differences first; `more_pairs` is how many more there are
    """

    comparison: ModelComparison
    spread: charts.Chart
    means: charts.Chart
    time: charts.Chart
    single: list[ModelFigures]
    left_out: int
    pairs: list[MeanDifference]
    more_pairs: int


def of_task(task_id: UUID, organization_id: UUID) -> ComparisonFigures:
    """Return the figures of a task's newest scored completions. The page checks that the reader may see them.

    organization_id  whose colours the models have: the reader's
    """
    comparison = comparisons.of_task(task_id)
    models = sorted(comparison.models, key=lambda model: -model.count)
    charted = sorted(models[:MOST_MODELS], key=lambda model: (-model.mean, model.model))
    slots = model_colours.slots(organization_id, [model.model for model in models[:MOST_MODELS]])
    pairs = comparisons.differences(charted)
    return ComparisonFigures(
        comparison=comparison,
        spread=charts.distributions(
            "Spread by model", [(model.model, model.bins) for model in charted],
            quartiles=[charts.Quartiles(*model.quartiles) for model in charted],
            slots=[slots[model.model] for model in charted], empty=NONE_YET, noun="completions",
        ),
        means=_means(task_id, charted, slots),
        time=_over_time(comparison, models[:MOST_LINES], slots),
        single=[model for model in charted if model.interval is None],
        left_out=len(models) - len(charted),
        pairs=pairs[:MOST_PAIRS],
        more_pairs=max(0, len(pairs) - MOST_PAIRS),
    )  # fmt: skip


def _means(task_id: UUID, models: Sequence[ModelFigures], slots: dict[str, int]) -> charts.Chart:
    rows = [
        charts.Interval(
            model.model,
            model.mean,
            *model.interval,
            model.count,
            href=scores_of(task_id, model.model),
            slot=slots[model.model],
        )
        for model in models
        if model.interval is not None
    ]
    empty = "A model needs two or more prompts for an interval." if models else NONE_YET
    return charts.intervals("Mean by model, with its 95 % interval", rows, noun="completions", empty=empty)


def _over_time(comparison: ModelComparison, models: Sequence[ModelFigures], slots: dict[str, int]) -> charts.Chart:
    since = comparison.since or datetime.now(UTC)
    until = max(comparison.until or since, since + timedelta(seconds=1))
    series = [charts.Series(model.model, model.moments, slots[model.model]) for model in models]
    return charts.lines(
        "Mean over time", series, since=since, until=until, axis="Mean reward", unit="score", low=0, high=1,
        empty=NONE_YET,
    )  # fmt: skip


def scores_of(task_id: UUID, model: str) -> str:
    """Return the address that lists the scores of a model."""
    return listed("scores", taskId=ids.encode("task", task_id), modelId=model)


def listed(route: str, **query: Any) -> str:
    """Return the address of a list with its filters; '' if there is no such page."""
    try:
        return f"{reverse(route)}?{urlencode(query)}"
    except NoReverseMatch:
        return ""
