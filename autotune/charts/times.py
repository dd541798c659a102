"""Chooses round times for an axis, and formats them, in the time zone that Django has active: UTC unless a person chose
another."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from itertools import pairwise

from django.utils import timezone

from autotune.core.pages import zones

STEPS_S = (
    1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 1_209_600,
)  # fmt: skip
STEPS_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
HOUR_S, DAY_S, MONTH_S = 3_600, 86_400, 2_629_800
MONDAY = date(1970, 1, 5)  # steps of weeks begin on Mondays
LAST_YEAR = 9_998  # local times near year 10,000 cannot be converted
LEAST_STEPS = 6  # of a fitted window: a single column is not as broad as the chart
FITTED_BELOW = 0.5  # of the time: what needs less of it gets a window of its own


def time_ticks(since: datetime, until: datetime, count: int = 6) -> list[datetime]:
    """Return about `count` round local times within [since, until]: minutes, hours, days, Mondays, months or years."""
    spacing_s = max((until - since).total_seconds(), 1) / count
    if spacing_s > STEPS_S[-1]:
        ticks = _months(since, until, spacing_s / MONTH_S)
    else:
        step_s = STEPS_S[bisect_left(STEPS_S, spacing_s)]
        ticks = _minutes(since, step_s, until) if step_s < HOUR_S else _hours(since, step_s, until)
    return sorted({tick.astimezone(UTC) for tick in ticks if since <= tick <= until})


def _minutes(since: datetime, step_s: int, until: datetime) -> Iterator[datetime]:
    """Yield steps of less than an hour; clocks change by whole steps of them."""
    step, local = timedelta(seconds=step_s), timezone.localtime(since)
    tick = since - timedelta(seconds=(local.minute * 60 + local.second) % step_s, microseconds=local.microsecond)
    while tick <= until:
        yield tick
        tick += step


def _hours(since: datetime, step_s: int, until: datetime) -> Iterator[datetime]:
    """Yield the local hours or midnights, each by its own offset: a day of a clock change has 23 or 25 hours."""
    day, last = timezone.localtime(since).date(), timezone.localtime(until).date()
    days = max(step_s // DAY_S, 1)
    day -= timedelta(days=(day - MONDAY).days % days)
    while day <= last and day.year <= LAST_YEAR:
        midnight = datetime.combine(day, time_of_day())
        for hour in range(0, 24, min(step_s // HOUR_S, 24)):
            yield timezone.make_aware(midnight + timedelta(hours=hour))
        day += timedelta(days=days)


def _months(since: datetime, until: datetime, spacing_months: float) -> Iterator[datetime]:
    step = STEPS_MONTHS[min(bisect_left(STEPS_MONTHS, spacing_months), len(STEPS_MONTHS) - 1)]
    first = timezone.localtime(since)
    place = (first.year * 12 + first.month - 1) // step * step
    while place // 12 <= LAST_YEAR:
        tick = timezone.make_aware(datetime(max(place // 12, 1), place % 12 + 1, 1))  # noqa: DTZ001 - made aware here
        if tick > until:
            return
        yield tick
        place += step


def time_labels(ticks: Sequence[datetime]) -> list[str]:
    """Return the shortest labels that distinguish the ticks: a midnight has its day, the first of a year its year."""
    step = min((later - earlier for earlier, later in pairwise(ticks)), default=timedelta(days=1)).total_seconds()
    local_ticks = [timezone.localtime(tick) for tick in ticks]
    first_of_year = {later for earlier, later in pairwise(local_ticks) if later.year != earlier.year}
    return [_time_label(tick, step, tick in first_of_year) for tick in local_ticks]


def _time_label(tick: datetime, step: float, names_year: bool) -> str:
    if step >= 365 * DAY_S:
        return f"{tick:%Y}"
    if step >= 28 * DAY_S:
        return f"{tick:%b %Y}"
    if step >= 23 * HOUR_S or (tick.hour, tick.minute, tick.second) == (0, 0, 0):
        return f"{tick.day} {tick:%b}{f' {tick:%Y}' if names_year else ''}"
    return f"{tick:%H:%M}" if step >= 60 else f"{tick:%H:%M:%S}"


def moment(at: datetime, *, seconds: bool = False) -> str:
    """Format a time as `2026-11-28 14:00`, in the active zone, which the header above names."""
    return timezone.localtime(at).isoformat(" ")[: 19 if seconds else 16]


def named_moment(at: datetime) -> str:
    """Format a time for a sentence, with its zone: `2026-11-28 14:00 CET`."""
    return f"{moment(at)} {zones.abbreviation(at)}"


def moments(times: Sequence[datetime], *, seconds: bool = False) -> list[str]:
    """Format the times of a table. Where clocks change among them, each names its zone, since an hour may repeat."""
    zone = timezone.get_current_timezone()
    local_times = [time.astimezone(zone) for time in times]
    texts = [time.isoformat(" ")[: 19 if seconds else 16] for time in local_times]
    if len({time.utcoffset() for time in local_times}) < 2:
        return texts
    return [f"{text} {zones.abbreviation(time)}" for text, time in zip(texts, times, strict=True)]


def time_header() -> str:
    """Return the header of a table's times, which names their zone."""
    return f"Time ({zones.active()})"


def fitted(
    first: datetime, last: datetime, since: datetime, until: datetime, step: timedelta
) -> tuple[datetime, datetime, str]:
    """Return the window of a chart, and a sentence about it where it is not all of [since, until].

    It is all of it, unless the values need less than FITTED_BELOW of it.

    first, last  when the values begin and end, within [since, until]
    step         from one value to the next
    """
    length = max(last - first, step * LEAST_STEPS)
    if length >= (until - since) * FITTED_BELOW:
        return since, until, ""
    begin = min(max(first - (length - (last - first)) / 2, since), until - length)
    return begin, begin + length, f"Only this part has values: {named_moment(first)} to {named_moment(last)}."
