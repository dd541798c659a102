"""What the graders' own counters tell: calls, latencies and scores, of some graders together and of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from autotune.charts import Chart, Series, columns, lines, spark_label, sparkline
from autotune.site.overviews.periods import Period
from autotune.site.overviews.sums import Key, Sums, over_time
from graders.models import GraderStatistic, Tally
from graders.statistics import latencies

SCORED, VALUE, ERRORS, BUCKET = "scored", "value", "errors", "ms"
Counted = dict[datetime, Sums]


def read(graders: Sequence[UUID], period: Period, now: datetime) -> Counted:
    """{step: {(grader, what, …): amount}} of these graders' counters, folded and fresh."""
    if not graders:
        return {}
    scope = ",".join(sorted(str(pk) for pk in graders))
    return over_time("counters", scope, period, now, lambda since: _fetch(graders, since))


def _fetch(graders: Sequence[UUID], since: datetime) -> dict[datetime, Sums]:
    """Both of one snapshot, since a fold moves rows."""
    columns = ("scored", "value_sum", "latencies", "errors")
    folded = GraderStatistic.objects.filter(grader_id__in=graders, start__gte=since)
    fresh = Tally.objects.filter(grader_id__in=graders, at__gte=since)
    both = folded.values_list("start", "grader_id", *columns).union(
        fresh.values_list("at", "grader_id", *columns), all=True
    )
    found: dict[datetime, Sums] = {}
    for at, pk, scored, value_sum, by_bucket, errors in both:
        sums = found.setdefault(at, {})
        _count(sums, (pk, SCORED), scored)
        _count(sums, (pk, VALUE), value_sum)
        for code, count in errors.items():
            _count(sums, (pk, ERRORS, code), count)
        for bucket, count in by_bucket.items():
            _count(sums, (pk, BUCKET, bucket), count)
    return found


def _count(sums: Sums, key: Key, amount: float) -> None:
    sums[key] = sums.get(key, 0) + amount


@dataclass(frozen=True, slots=True)
class Told:
    """The counters of some graders over some time; figures are None where nothing was counted."""

    scored: int
    errors: int
    mean: float | None
    latencies: dict[str, int]

    @property
    def calls(self) -> int:
        """By attempts: a completion that failed twice and was then scored counts three."""
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


def told(many: Iterable[Mapping[Key, float]]) -> Told:
    """Sums of any number of steps as figures."""
    scored = errors = value = 0.0
    by_bucket: dict[str, int] = {}
    for sums in many:
        for key, amount in sums.items():
            what = key[1]
            if what == SCORED:
                scored += amount
            elif what == VALUE:
                value += amount
            elif what == ERRORS:
                errors += amount
            else:
                by_bucket[key[2]] = by_bucket.get(key[2], 0) + int(amount)
    return Told(int(scored), int(errors), value / scored if scored else None, by_bucket)


def by_grader(counted: Counted) -> dict[UUID, Counted]:
    """The same of each grader."""
    found: dict[UUID, Counted] = {}
    for at, sums in counted.items():
        for key, amount in sums.items():
            found.setdefault(key[0], {}).setdefault(at, {})[key] = amount
    return found


def throughput(counted: Counted, period: Period, now: datetime) -> Chart:
    """What was scored, and attempts that ended in an error, stacked."""
    figures = {at: told([counted.get(at, {})]) for at in period.steps(now)}
    return columns(
        "Scored completions and failed attempts", [(at, (one.scored, one.errors)) for at, one in figures.items()],
        ("Scored", "Failed attempts"), tones=("good", "bad"), since=period.since(now), empty="No calls in this time.",
    )  # fmt: skip


def latency(counted: Counted, period: Period, now: datetime) -> Chart:
    """The middle and the slowest calls over time."""
    points = {at: told([counted.get(at, {})]) for at in period.steps(now)}
    return lines(
        "Latency of grader calls",
        [
            Series("p50", [(at, point.p50) for at, point in points.items()]),
            Series("p99", [(at, point.p99) for at, point in points.items()]),
        ],
        since=period.since(now), until=now, unit="ms", low=0, wide=False, empty="No calls in this time.",
    )  # fmt: skip


def trend(counted: Counted, period: Period, now: datetime) -> str:
    """One grader's mean score as a line of the size of a word."""
    values = [told([counted.get(at, {})]).mean for at in period.steps(now)]
    return sparkline(values, label=f"Mean score. {spark_label(values)}")
