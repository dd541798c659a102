"""The charts of a task's page: how the scores of each model are spread, how the models compare, how they went."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.urls import NoReverseMatch, reverse

from autotune import charts
from autotune.core import ids
from scores.results import comparisons
from scores.results.comparisons import Comparison, Difference, ModelFigures

MOST_MODELS: Final = 12  # in one chart
MOST_LINES: Final = 6
MOST_PAIRS: Final = 10
NONE_YET: Final = "No completion of this task has been scored yet."


@dataclass(frozen=True, slots=True)
class Figures:
    """What the page shows of a comparison.

    shown    models in the charts, the highest mean first; `left_out` is how many more there are
    single   of those the ones without an interval: they answered one prompt
    pairs    the greatest differences first; `more_pairs` is how many more there are
    """

    comparison: Comparison
    spread: charts.Chart
    means: charts.Chart
    time: charts.Chart
    single: list[ModelFigures]
    left_out: int
    pairs: list[Difference]
    more_pairs: int


def of_task(task_id: UUID) -> Figures:
    """Of its newest scored completions. Whether the reader may see them is the page's to ask."""
    found = comparisons.of_task(task_id)
    known = sorted(found.models, key=lambda one: -one.count)
    shown = sorted(known[:MOST_MODELS], key=lambda one: (-one.mean, one.model))
    pairs = comparisons.differences(shown)
    return Figures(
        comparison=found,
        spread=charts.distributions(
            "Spread by model", [(one.model, one.bins) for one in shown], empty=NONE_YET, noun="completions"
        ),
        means=_means(task_id, shown),
        time=_over_time(found, known[:MOST_LINES]),
        single=[one for one in shown if one.interval is None],
        left_out=len(known) - len(shown),
        pairs=pairs[:MOST_PAIRS],
        more_pairs=max(0, len(pairs) - MOST_PAIRS),
    )


def _means(task_id: UUID, shown: Sequence[ModelFigures]) -> charts.Chart:
    rows = [
        charts.Interval(one.model, one.mean, *one.interval, one.count, href=scores_of(task_id, one.model))
        for one in shown
        if one.interval is not None
    ]
    empty = "An interval needs two prompts of a model or more." if shown else NONE_YET
    return charts.intervals("Mean by model, with its 95 % interval", rows, noun="completions", empty=empty)


def _over_time(found: Comparison, models: Sequence[ModelFigures]) -> charts.Chart:
    since = found.since or datetime.now(UTC)
    until = max(found.until or since, since + timedelta(seconds=1))
    series = [charts.Series(one.model, one.moments) for one in models]
    return charts.lines("Mean over time", series, since=since, until=until, low=0, high=1, empty=NONE_YET)


def scores_of(task_id: UUID, model: str) -> str:
    """Where the scores of a model are listed."""
    return listed("scores", taskId=ids.encode("task", task_id), modelId=model)


def listed(route: str, **query: Any) -> str:
    """The address of a list with its filters; '' while there is no such page."""
    try:
        return f"{reverse(route)}?{urlencode(query)}"
    except NoReverseMatch:
        return ""
