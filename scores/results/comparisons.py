"""Compare the models of a task: the distribution, mean and interval of each, and the mean over time.

One statement reads the newest scored completions, so a task of ten million costs the same as one of a thousand. It
counts rewards, which are a panel's scores as one number, so a panel of three does not count three times.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any, Final
from uuid import UUID

from django.db import connection

from scores.models import Reward
from tasks.states import TRAINING_SOURCES

NEWEST: Final = 10_000  # scored completions that are read
BINS: Final = 20
MOMENTS: Final = 24  # points over time
Z95: Final = 1.959964
T95: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # by degrees of freedom, from 1

# Rewards are rounded to twelve decimals, and deviations below TINY count as 0: PostgreSQL rejects a product or quotient
# that underflows, and a grader may return the smallest positive number.
TINY: Final = "1e-100"
_STATEMENT: Final = """
with newest (completion_id, value, at) as ({source}),
recent as materialized (
    select completion.model_id as model, completion.prompt_digest as prompt,
        case when completion.prompt_digest is null or completion.prompt_digest = {unreadable}
            then completion.id end as lone,
        floor(newest.value * 1e12 + 0.5) / 1e12 as value, newest.at
    from newest {join}
),
span as (select min(at) as since, max(at) as until from recent),
prompts as materialized (
    select model, count(*) as n, sum(value) as total from recent group by model, prompt, lone
),
means as (select model, sum(total) / sum(n) as mean from prompts group by model),
ranked as (
    select model, value, row_number() over (partition by model order by value) - 1 as place,
        count(*) over (partition by model) as n
    from recent
),
deviations as (
    select prompts.model, n, total, total - mean * n as deviation from prompts join means on means.model = prompts.model
)
select 'bin', model, least(floor(value * {bins}), {bins} - 1), count(*), sum(value), 0, 0, 0 from recent group by 2, 3
union all
select 'model', model, count(*), sum(n), sum(total),
    sum(case when abs(deviation) < {tiny} then 0 else deviation * deviation end), 0, 0
from deviations group by model
union all
select 'time', model, {moment}, count(*), sum(value), 0, 0, 0 from recent, span group by 2, 3
union all
select 'rank', model, place, n, value, 0, 0, 0 from ranked
where place in (
    (n - 1) / 4, (n - 1) / 4 + 1, (n - 1) * 2 / 4, (n - 1) * 2 / 4 + 1, (n - 1) * 3 / 4, (n - 1) * 3 / 4 + 1
)
union all
select 'span', '', 0, count(*), {since}, {until}, 0, 0 from recent
"""
_POSTGRES: Final = {
    "unreadable": "''::bytea",
    "join": "cross join lateral (select id, model_id, prompt_digest from tasks_completion"
    " where id = newest.completion_id offset 0) as completion",  # else all completions of all tasks would be read
    "moment": "floor(cast(extract(epoch from at - since) as double precision)"
    " / greatest(cast(extract(epoch from until - since) as double precision), 1) * {moments})",
    "since": "extract(epoch from min(at))",
    "until": "extract(epoch from max(at))",
}
_SQLITE: Final = {
    "unreadable": "x''",
    "join": "join tasks_completion completion on completion.id = newest.completion_id",
    "moment": "floor((julianday(at) - julianday(since)) * 86400"
    " / max((julianday(until) - julianday(since)) * 86400, 1) * {moments})",
    "since": "(julianday(min(at)) - 2440587.5) * 86400",
    "until": "(julianday(max(at)) - 2440587.5) * 86400",
}


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The figures of one model.

    count    scored completions; `prompts` is how many different prompts they answer
    error    of the mean: the standard error, by prompts; None with fewer than two of them
    margin   half of the mean's 95 % interval
    quartiles  the 25th, 50th and 75th percentile, between neighbours by rank
    bins     counts in BINS buckets of [0, 1], the last closed
    moments  (middle of a period, its mean), in order; periods without a score are left out
    """

    model: str
    count: int
    prompts: int
    mean: float
    error: float | None
    quartiles: tuple[float, float, float]
    bins: list[int]
    moments: list[tuple[datetime, float]]

    @property
    def margin(self) -> float | None:
        return None if self.error is None else quantile95(self.prompts - 1) * self.error

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, within [0, 1]."""
        if self.margin is None:
            return None
        return max(0.0, self.mean - self.margin), min(1.0, self.mean + self.margin)


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """All models, the highest mean first; `count` scored completions from `since` to `until`, or none at all."""

    models: list[ModelFigures]
    count: int
    since: datetime | None
    until: datetime | None

    @property
    def mean(self) -> float | None:
        """The mean of all counted completions."""
        return sum(model.mean * model.count for model in self.models) / self.count if self.count else None

    @property
    def is_full(self) -> bool:
        """Whether there may be more completions than were read."""
        return self.count >= NEWEST


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """How far the mean of `better` lies above that of `worse`, with its 95 % interval."""

    better: str
    worse: str
    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0


def of_task(task_id: UUID) -> ModelComparison:
    """Return the figures of a task's newest scored completions. The caller checks who may read its scores."""
    rewards = Reward.objects.for_readers(TRAINING_SOURCES).filter(task_id=task_id, value__isnull=False)
    rewards = rewards.order_by("-completion_id")
    newest = rewards.values_list("completion_id", "value", "scored_at")[:NEWEST]
    source, values = newest.query.sql_with_params()
    parts = _POSTGRES if connection.vendor == "postgresql" else _SQLITE
    text = _STATEMENT if connection.vendor == "postgresql" else _STATEMENT.replace("least(", "min(")
    dialect = {name: part.format(moments=MOMENTS) for name, part in parts.items()}
    with connection.cursor() as cursor:
        cursor.execute(text.format(source=source, bins=BINS, tiny=TINY, **dialect), values)
        rows = cursor.fetchall()
    return _comparison(rows)


def differences(models: Sequence[ModelFigures]) -> list[MeanDifference]:
    """Return the differences of all pairs of models that both have an interval, the greatest first.

    Welch's interval assumes that the two means are independent. If both models answered the same prompts, they mostly
    are not, and the interval is too wide rather than too narrow.
    """
    pair_differences = []
    for first, second in combinations([model for model in models if model.error is not None], 2):
        better, worse = (first, second) if first.mean >= second.mean else (second, first)
        value, margin = better.mean - worse.mean, _welch(better, worse)
        pair_differences.append(MeanDifference(better.model, worse.model, value, value - margin, value + margin))
    return sorted(pair_differences, key=lambda difference: -difference.value)


def quantile95(freedom: float) -> float:
    """Return how many standard errors a 95 % interval reaches to either side, by Student's t.

    freedom  degrees of it, 1 or more
    source   Abramowitz and Stegun, 26.7.5, beyond the table; correct to three places from 10 on
    """
    degrees = math.floor(freedom)
    if degrees <= len(T95):
        return T95[max(degrees, 1) - 1]
    z = Z95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _welch(first: ModelFigures, second: ModelFigures) -> float:
    """Half of the 95 % interval of the difference of two means."""
    a, b = (first.error or 0.0) ** 2, (second.error or 0.0) ** 2
    if a + b == 0:
        return 0.0
    share = a / (a + b)  # the squares of a and b might underflow to 0
    freedom = 1 / (share**2 / (first.prompts - 1) + (1 - share) ** 2 / (second.prompts - 1))
    return quantile95(freedom) * math.sqrt(a + b)


def _error(prompts: int, n: float, spread: float) -> float | None:
    """The standard error of a mean whose completions form groups, one per prompt, with similar values in a group.

    spread  the sum over the groups of (total − mean·n)². With one completion per prompt the error is the usual s/√n
    """
    if prompts < 2:
        return None
    return math.sqrt(prompts / (prompts - 1) * max(0.0, spread)) / n


def _comparison(rows: Sequence[Sequence[Any]]) -> ModelComparison:
    parts: dict[str, list[Sequence[Any]]] = {"bin": [], "model": [], "time": [], "rank": [], "span": []}
    for row in rows:
        parts[row[0]].append(row[1:])
    _, _, count, first, last, *_ = parts["span"][0]
    if not count:
        return ModelComparison([], 0, None, None)
    since, until = (datetime.fromtimestamp(float(moment), tz=UTC) for moment in (first, last))
    step = max(until - since, timedelta(seconds=1)) / MOMENTS
    models = []
    for model, prompts, n, total, spread, *_ in parts["model"]:
        bins = _bins(row[1:] for row in parts["bin"] if row[0] == model)
        moments = _moments((row[1:] for row in parts["time"] if row[0] == model), since, step)
        error = _error(int(prompts), float(n), float(spread))
        quartiles = _quartiles(row[1:] for row in parts["rank"] if row[0] == model)
        mean = min(1.0, total / float(n))
        models.append(ModelFigures(model, int(n), int(prompts), mean, error, quartiles, bins, moments))
    return ModelComparison(sorted(models, key=lambda figures: (-figures.mean, figures.model)), int(count), since, until)


def _quartiles(rows: Iterable[Sequence[Any]]) -> tuple[float, float, float]:
    """The quartiles of (place, count, value) rows, which hold the neighbours of each, as the summary interpolates."""
    values: dict[int, float] = {}
    last = 0
    for place, count, value, *_ in rows:
        values[int(place)], last = float(value), int(count) - 1
    first, second, third = (
        values[last * quarter // 4]
        + (values.get(last * quarter // 4 + 1, 0.0) - values[last * quarter // 4]) * (last * quarter % 4) / 4
        for quarter in (1, 2, 3)
    )
    return first, second, third


def _bins(rows: Iterable[Sequence[Any]]) -> list[int]:
    """The counts of (place, count) rows; what is not named has none."""
    counts = [0] * BINS
    for place, count, *_ in rows:
        counts[int(place)] += int(count)
    return counts


def _moments(rows: Iterable[Sequence[Any]], since: datetime, step: timedelta) -> list[tuple[datetime, float]]:
    """The means of (place, count, sum) rows, at the middle of each period; the last period includes its end."""
    sums: dict[int, tuple[int, float]] = {}
    for place, count, total, *_ in rows:
        index = min(int(place), MOMENTS - 1)
        before = sums.get(index, (0, 0.0))
        sums[index] = (before[0] + int(count), before[1] + total)
    return [(since + step * (index + 0.5), total / count) for index, (count, total) in sorted(sums.items())]
