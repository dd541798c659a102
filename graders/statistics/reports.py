"""Report a grader's figures over a window.

errorRate is errors / (scored + errors), counted by attempts: a completion that failed twice and was then scored adds
two errors and one score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from autotune.core.clock import wire
from graders.models import Grader
from graders.statistics import latencies, tallies
from graders.statistics.folding import HOUR, STEP, floor_to
from graders.statistics.responses import ErrorCountOut, GraderStatsOut, TimelinePointOut
from graders.statistics.tallies import CounterSums

MAX_POINTS: Final = 120
WINDOWS: Final = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
POINT_STEPS: Final = tuple(
    timedelta(minutes=minutes) for minutes in (5, 15, 30, 60, 120, 360, 720, 1440, 10_080, 43_200)
)

_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


def report(grader: Grader, window: str = "all") -> GraderStatsOut:
    """Return the figures of a grader over a window of WINDOWS or `all`, which is rounded up to whole five minutes.

    Averages are null if nothing was counted. A timeline point covers the time from `at` to the next step; steps without
    scores and errors are omitted.
    """
    since = floor_to(STEP, timezone.now() - WINDOWS[window]) if window in WINDOWS else None
    step = _step(WINDOWS[window] if window in WINDOWS else _age(grader.pk))
    total = CounterSums()
    points: dict[datetime, _Moment] = {}
    for moment, *counters in tallies.rows(grader.pk, since, hours=_whole_hours(since) if step >= HOUR else None):
        total.add(*counters)
        scored, value_sum, _, latency_sum_ms, by_bucket, errors = counters
        point = points.setdefault(floor_to(step, moment), _Moment())
        point.add(_Moment(scored, sum(errors.values()), value_sum, latency_sum_ms, sum(by_bucket.values())))
    failed = sum(total.errors.values())
    return GraderStatsOut(
        total_scored=total.scored,
        avg_latency_ms=_mean(total.latency_sum_ms, sum(total.latencies.values())),
        p50_latency_ms=latencies.percentile(total.latencies, 0.5),
        p99_latency_ms=latencies.percentile(total.latencies, 0.99),
        error_rate=_mean(failed, total.scored + failed),
        avg_score=_mean(total.value_sum, total.scored),
        score_distribution=total.histogram,
        errors=[
            ErrorCountOut(code, count) for code, count in sorted(total.errors.items(), key=lambda e: (-e[1], e[0]))
        ],
        timeline=_timeline(points),
    )


def _whole_hours(since: datetime | None) -> datetime:
    """Return the first whole hour from `since` on; the time before it is read by five minutes."""
    return floor_to(HOUR, since + HOUR - STEP) if since else _EVER


def _age(grader_id: UUID) -> timedelta:
    """Return the time from the first to the last five minutes in which the grader had results."""
    ends = tallies.ends(grader_id)
    return floor_to(STEP, ends[1]) - floor_to(STEP, ends[0]) if ends else timedelta()


@dataclass(slots=True)
class _Moment:
    """The counters of one point of the timeline."""

    scored: int = 0
    errors: int = 0
    value_sum: float = 0.0
    latency_sum_ms: float = 0.0
    latency_count: int = 0

    def add(self, other: "_Moment") -> None:
        self.scored += other.scored
        self.errors += other.errors
        self.value_sum += other.value_sum
        self.latency_sum_ms += other.latency_sum_ms
        self.latency_count += other.latency_count


def _timeline(points: Mapping[datetime, _Moment]) -> list[TimelinePointOut]:
    return [
        TimelinePointOut(
            at=wire(moment),
            scored=point.scored,
            errors=point.errors,
            avg_score=_mean(point.value_sum, point.scored),
            avg_latency_ms=_mean(point.latency_sum_ms, point.latency_count),
        )
        for moment, point in sorted(points.items())
    ]


def _step(span: timedelta) -> timedelta:
    """Return the smallest step for at most MAX_POINTS points (two more if the window starts and ends inside steps)."""
    return next((step for step in POINT_STEPS if span <= step * MAX_POINTS), POINT_STEPS[-1])


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None
