"""Cache sums over time: a process keeps those that no longer change, and reads only the newest again."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache

from autotune.site.overviews.periods import OverviewPeriod
from graders.statistics.folding import floor_to

Key = tuple[Any, ...]
Sums = dict[Key, float]
Fetch = Callable[[datetime], Mapping[datetime, Sums]]

SETTLES: Final = timedelta(minutes=2)  # by then, what a transaction wrote is visible to all
KEPT_FOR: Final = timedelta(hours=1)  # then all is read again: scores and graders can be deleted
kept: Final = LocMemCache("overview", {"OPTIONS": {"MAX_ENTRIES": 500}})  # in memory: a read must write nothing


def add(to: Sums, more: Mapping[Key, float]) -> None:
    """Add `more` to `to`, key by key."""
    for key, amount in more.items():
        to[key] = to.get(key, 0) + amount


def over_time(
    name: str, scope: str, period: OverviewPeriod, now: datetime, fetch: Fetch, *, grain: timedelta | None = None
) -> dict[datetime, Sums]:
    """Return the sums of each step that has any.

    scope  everything that decides which rows `fetch` reads, such as whose they are
    fetch  returns the sums of each moment, bucket or step from a moment on
    grain  smallest span that `fetch` reads: the period's bucket, or its step
    """
    grain = grain or period.bucket
    key = f"{name}:{period.name}:{hashlib.sha256(scope.encode()).hexdigest()}"
    first = period.since(now)
    cached_at, until, settled_sums = kept.get(key) or (now, first, {})
    if until < first or now - cached_at > KEPT_FOR:
        cached_at, until, settled_sums = now, first, {}
    sums_by_time = {moment: sums for moment, sums in settled_sums.items() if moment >= first}
    sums_by_time |= _floored(fetch(until), grain)
    settled = floor_to(grain, now - SETTLES)
    if settled > until:
        settled_sums = {moment: sums for moment, sums in sums_by_time.items() if moment < settled}
        kept.set(key, (cached_at, settled, _by_step(settled_sums, period, settled)), KEPT_FOR.total_seconds())
    return _by_step(sums_by_time, period, None)


def _floored(sums_by_time: Mapping[datetime, Sums], grain: timedelta) -> dict[datetime, Sums]:
    pieces: dict[datetime, Sums] = {}
    for moment, sums in sums_by_time.items():
        add(pieces.setdefault(floor_to(grain, moment), {}), sums)
    return pieces


def _by_step(
    sums_by_time: Mapping[datetime, Sums], period: OverviewPeriod, settled: datetime | None
) -> dict[datetime, Sums]:
    """Add up pieces to steps; with `settled`, only the pieces of steps that have ended by then."""
    steps: dict[datetime, Sums] = {}
    for moment, sums in sums_by_time.items():
        step = floor_to(period.step, moment)
        is_whole = settled is None or step + period.step <= settled
        add(steps.setdefault(step if is_whole else moment, {}), sums)
    return steps
