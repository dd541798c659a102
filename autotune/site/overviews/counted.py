"""Chart the graders' counters: calls, latencies and scores, of several graders together and of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from autotune.charts import Chart, Series, columns, lines, spark_label, sparkline
from autotune.site.overviews.periods import OverviewPeriod
from autotune.site.overviews.sums import Key, Sums, over_time
from graders.models import GraderStatistic, Tally
from graders.statistics import latencies

SCORED, VALUE, ERRORS, BUCKET = "scored", "value", "errors", "ms"
Counted = dict[datetime, Sums]


def read(graders: Sequence[UUID], period: OverviewPeriod, now: datetime) -> Counted:
    """Return {step: {(grader, what, …): amount}} of these graders' counters, folded and fresh."""
    if not graders:
        return {}
    scope = ",".join(sorted(str(pk) for pk in graders))
    return over_time("counters", scope, period, now, lambda since: _fetch(graders, since))


def _fetch(graders: Sequence[UUID], since: datetime) -> dict[datetime, Sums]:
    """Read folded and fresh counters in one statement, since a fold moves rows."""
    columns = ("scored", "value_sum", "latencies", "errors")
    folded = GraderStatistic.objects.filter(grader_id__in=graders, start__gte=since)
    fresh = Tally.objects.filter(grader_id__in=graders, at__gte=since)
    both = folded.values_list("start", "grader_id", *columns).union(
        fresh.values_list("at", "grader_id", *columns), all=True
    )
    sums_by_time: dict[datetime, Sums] = {}
    for start, pk, scored, value_sum, by_bucket, errors in both:
        sums = sums_by_time.setdefault(start, {})
        _count(sums, (pk, SCORED), scored)
        _count(sums, (pk, VALUE), value_sum)
        for code, count in errors.items():
            _count(sums, (pk, ERRORS, code), count)
        for bucket, count in by_bucket.items():
            _count(sums, (pk, BUCKET, bucket), count)
    return sums_by_time


def _count(sums: Sums, key: Key, amount: float) -> None:
    sums[key] = sums.get(key, 0) + amount


@dataclass(frozen=True, slots=True)
class GraderFigures:
    """The counters of some graders over a period; figures are None if nothing was counted."""

    scored: int
    errors: int
    mean: float | None
    latencies: dict[str, int]

    @property
    def calls(self) -> int:
        """Count attempts: a completion that failed twice and was then scored counts as three calls."""
        return self.scored + self.errors

    @property
    def error_rate(self) -> float | None:
        return self.errors / self.calls if self.calls else None

    @property
    def p50(self) -> float | None:
        return latencies.percentile(self.latencies, 0.5)

    @property
    def p99(self) -> float | None:
        return latencies.percentile(self.latencies, 0.99)


def figures_of(steps: Iterable[Mapping[Key, float]]) -> GraderFigures:
    """Add up the sums of any number of steps."""
    scored = errors = value = 0.0
    by_bucket: dict[str, int] = {}
    for sums in steps:
        for key, amount in sums.items():
            kind = key[1]
            if kind == SCORED:
                scored += amount
            elif kind == VALUE:
                value += amount
            elif kind == ERRORS:
                errors += amount
            else:
                by_bucket[key[2]] = by_bucket.get(key[2], 0) + int(amount)
    return GraderFigures(int(scored), int(errors), value / scored if scored else None, by_bucket)


def by_grader(counted: Counted) -> dict[UUID, Counted]:
    """Split the counters by grader."""
    counted_by_grader: dict[UUID, Counted] = {}
    for step, sums in counted.items():
        for key, amount in sums.items():
            counted_by_grader.setdefault(key[0], {}).setdefault(step, {})[key] = amount
    return counted_by_grader


def throughput(counted: Counted, period: OverviewPeriod, now: datetime) -> Chart:
    """Chart scored completions and failed attempts, stacked."""
    points = {step: figures_of([counted.get(step, {})]) for step in period.steps(now)}
    return columns(
        "Scored completions and failed attempts",
        [(step, (point.scored, point.errors)) for step, point in points.items()],
        ("Scored", "Failed attempts"), tones=("good", "bad"), axis="Calls", since=period.since(now),
        empty="No calls in this time.",
    )  # fmt: skip


def latency(counted: Counted, period: OverviewPeriod, now: datetime) -> Chart:
    """Chart the median (p50) and the slowest (p99) calls over time."""
    points = {step: figures_of([counted.get(step, {})]) for step in period.steps(now)}
    return lines(
        "Latency of grader calls",
        [
            Series("p50", [(step, point.p50) for step, point in points.items()]),
            Series("p99", [(step, point.p99) for step, point in points.items()]),
        ],
        since=period.since(now), until=now, axis="Latency", unit="ms", low=0, wide=False,
        empty="No calls in this time.",
    )  # fmt: skip


def trend(counted: Counted, period: OverviewPeriod, now: datetime) -> str:
    """Draw one grader's mean score as a sparkline."""
    values = [figures_of([counted.get(step, {})]).mean for step in period.steps(now)]
    return sparkline(values, label=f"Mean score. {spark_label(values, 'score')}")
