"""Figures of many graders for the last day, and the state of each circuit, in one or two queries for all.

People open a board again and again, so each process caches the hours that have ended. Their counters do not change any
more, because a counter has the time at which it was saved.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from graders import pauses
from graders.health import thresholds
from graders.health.thresholds import GraderRatings
from graders.models import Grader, GraderStatistic, Tally
from graders.states import Trouble
from graders.statistics import latencies
from graders.statistics.folding import floor_to

WINDOW: Final = timedelta(hours=24)
POINT: Final = timedelta(hours=1)
OVER_AFTER: Final = timedelta(minutes=5)  # an hour's last counters may be committed this long after its end
REMEMBERED: Final = 5_000  # cached hours of graders, of some kilobytes each
COUNTED: Final = ("scored", "latencies", "errors")

Circuit = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class GraderMeasurements:
    """The measured figures of a grader over WINDOW. A share or latency without data is None.

    trend  the 99th percentile of the latency in ms for each POINT, oldest first; None where nothing was scored
    """

    scored: int = 0
    errors: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    trend: tuple[float | None, ...] = ()

    @property
    def success(self) -> float | None:
        """The share of attempts that returned a score."""
        attempts = self.scored + self.errors
        return self.scored / attempts if attempts else None

    @property
    def error_rate(self) -> float | None:
        """The share of attempts that ended with an error."""
        attempts = self.scored + self.errors
        return self.errors / attempts if attempts else None

    def ratings(self, limit_ms: int) -> GraderRatings:
        """Rate the figures; `limit_ms` is the timeout of the grader's calls."""
        return thresholds.ratings(self.scored, self.errors, self.p99_ms, limit_ms)


def measured(grader_ids: Collection[UUID], now: datetime | None = None) -> dict[UUID, GraderMeasurements]:
    """Return the measured figures of each grader."""
    now = now or timezone.now()
    first = floor_to(POINT, now - WINDOW + POINT)
    hours = [first + place * POINT for place in range(WINDOW // POINT)]
    past_hours = [hour for hour in hours if hour + POINT + OVER_AFTER <= now]
    remembered_ids = {pk for pk in grader_ids if all((pk, hour) in _hour_cache for hour in past_hours)}
    hours_by_grader: dict[UUID, _Hours] = {
        pk: {hour: _hour_cache[pk, hour] for hour in past_hours if pk in remembered_ids} for pk in grader_ids
    }
    for group, since in ((remembered_ids, first + len(past_hours) * POINT), (set(grader_ids) - remembered_ids, first)):
        for pk, moment, *counters in _rows(group, since) if group else ():
            hours_by_grader[pk].setdefault(floor_to(POINT, moment), _Hour()).add(*counters)
    _remember(
        {
            (pk, hour): hours_by_grader[pk].get(hour, _NOTHING)
            for pk in hours_by_grader.keys() - remembered_ids
            for hour in past_hours
        },
        first,
    )
    return {pk: _summed(each, hours) for pk, each in hours_by_grader.items()}


def circuit(grader: Grader, now: datetime | None = None) -> Circuit:
    """Return the circuit's state from the grader's row: open during the pause, then half-open until calls succeed."""
    if Trouble.CIRCUIT not in grader.troubles:
        return "closed"
    is_paused = grader.held_until is not None and grader.held_until > (now or timezone.now())
    return "open" if is_paused and grader.held_reason == pauses.CIRCUIT_OPEN else "half_open"


@dataclass(slots=True)
class _Hour:
    """Counters of one grader over one POINT."""

    scored: int = 0
    errors: int = 0
    by_bucket: dict[str, int] = field(default_factory=dict)

    def add(self, scored: int, by_bucket: dict[str, int], errors: dict[str, int]) -> None:
        self.scored += scored
        self.errors += sum(errors.values())
        _add(self.by_bucket, by_bucket)


_Hours = dict[datetime, _Hour]
_NOTHING: Final = _Hour()
_hour_cache: dict[tuple[UUID, datetime], _Hour] = {}


def _remember(hours: dict[tuple[UUID, datetime], _Hour], first: datetime) -> None:
    """Cache hours that do not change any more; if the cache is full, drop those before the window."""
    if len(_hour_cache) + len(hours) > REMEMBERED:
        recent_hours = {key: hour for key, hour in list(_hour_cache.items()) if key[1] >= first}
        _hour_cache.clear()
        _hour_cache.update(recent_hours if len(recent_hours) + len(hours) <= REMEMBERED else {})
    _hour_cache.update(hours)


def _summed(by_hour: _Hours, hours: list[datetime]) -> GraderMeasurements:
    total = _Hour()
    for hour in by_hour.values():
        total.scored, total.errors = total.scored + hour.scored, total.errors + hour.errors
        _add(total.by_bucket, hour.by_bucket)
    p50, p99 = (latencies.percentile(total.by_bucket, share) for share in (0.5, 0.99))
    trend = (latencies.percentile(by_hour.get(hour, _NOTHING).by_bucket, 0.99) for hour in hours)
    return GraderMeasurements(total.scored, total.errors, p50, p99, tuple(trend))


def _rows(grader_ids: Collection[UUID], since: datetime) -> QuerySet[Any, tuple[Any, ...]]:
    """Return (grader, time, *COUNTED) of folded and fresh rows, in one query because a fold moves rows."""
    folded = GraderStatistic.objects.filter(grader_id__in=grader_ids, start__gte=since)
    fresh = Tally.objects.filter(grader_id__in=grader_ids, at__gte=since)
    return folded.values_list("grader_id", "start", *COUNTED).union(
        fresh.values_list("grader_id", "at", *COUNTED), all=True
    )


def _add(sums: dict[str, int], counts: dict[str, int]) -> None:
    for key, count in counts.items():
        sums[key] = sums.get(key, 0) + count
