"""The folding job: it moves tallies into the counters of an hour, a day and all time.

An advisory lock lets one job fold at a time; on SQLite the immediate transaction is the lock. The transaction that adds
a tally to the counters also deletes it, so a crash between two groups loses and doubles nothing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from autotune.core import bulk, fixedpoint
from autotune.core.fixedpoint import Moments
from scores.counters.bins import bin_of
from scores.models import ScoreCount, ScoreTally, TaskCount, TaskTally
from scores.models.counters import NO_TASK, CountSpan

GROUP: Final = {"postgresql": 10_000, "sqlite": 1_000}  # tallies folded in one transaction; SQLite's keeps writers out
MAX_GROUPS: Final = 50  # transactions in one run
LOCK: Final = 0x73636F7265666F6C  # 'scorefol'
EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
SERIES: Final = (
    "organization_id", "task_id", "model_id", "grader_version_id", "source", "held_out", "standing",
)  # fmt: skip
TOTAL: Final = ("total_0", "total_1")
SQUARES: Final = ("squares_0", "squares_1", "squares_2", "squares_3")
PROGRESS: Final = ("completions", "rewarded", "unrewarded", "reward_high", "reward_low")
Key = tuple[Any, ...]  # the values of SERIES, then span and start


@dataclass(slots=True)
class ScoreCountSums:
    """The sums that a ScoreCount holds."""

    moments: Moments = field(default_factory=Moments)
    bins: dict[str, int] = field(default_factory=dict)

    def note(self, units: Iterable[int], sign: int) -> None:
        """Add values, or subtract them with `sign` -1."""
        values = list(units)
        self.moments.note(values, sign)
        for bin_, count in Counter(map(bin_of, values)).items():
            self.bins[str(bin_)] = self.bins.get(str(bin_), 0) + sign * count

    def add(self, other: "ScoreCountSums", times: int = 1) -> None:
        """Add other sums, or subtract them with `times` -1."""
        self.moments.add(times * other.moments.count, times * other.moments.total, times * other.moments.squares)
        for key, count in other.bins.items():
            self.bins[key] = self.bins.get(key, 0) + times * count

    @classmethod
    def of(cls, row: ScoreCount) -> Self:
        """The sums of a counter."""
        total, squares = ([getattr(row, name) for name in names] for names in (TOTAL, SQUARES))
        return cls(Moments(row.number, fixedpoint.joined(total), fixedpoint.joined(squares)), dict(row.bins))

    @property
    def is_empty(self) -> bool:
        return not (self.moments.count or self.moments.total or any(self.bins.values()))


def fold() -> int:
    """Fold tallies, up to MAX_GROUPS groups, and return their number. If two jobs run at once, one folds nothing."""
    folded, size = 0, GROUP[connection.vendor]
    for _ in range(MAX_GROUPS):
        count = _fold_group(size)
        folded += count
        if count < size:
            break
    return folded


def times(hour: datetime) -> tuple[tuple[CountSpan, datetime], ...]:
    """The spans that contain an hour, each with its start."""
    return (CountSpan.EVER, EVER), (CountSpan.DAY, hour.replace(hour=0)), (CountSpan.HOUR, hour)


def _try_lock() -> bool:
    """Lock folding and building for this transaction. False if another transaction has the lock."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


@transaction.atomic
def _fold_group(size: int) -> int:
    if not _try_lock():
        return 0
    return max(_fold_scores(size), _fold_progress(size))


def _fold_scores(size: int) -> int:
    tallies = ScoreTally.objects.order_by("id").values_list("id", "sign", "units", "hour", *SERIES)[:size]
    keys: list[int] = []
    values: dict[Key, list[int]] = {}  # of each sign, hour and series
    for key, sign, units, *series in tallies:
        keys.append(key)
        values.setdefault((sign, *series), []).extend(units)
    sums: dict[Key, ScoreCountSums] = {}
    for (sign, hour, *series), units in values.items():
        added = ScoreCountSums()
        added.note(units, sign)
        for time in times(hour):
            sums.setdefault((*series, *time), ScoreCountSums()).add(added)
    write(sums | organization_sums(sums))
    bulk.delete(ScoreTally, keys)
    return len(keys)


def organization_sums(sums: dict[Key, ScoreCountSums], times: int = 1) -> dict[Key, ScoreCountSums]:
    """The sums that task counters add to the counters of their organizations."""
    totals: dict[Key, ScoreCountSums] = {}
    for (organization, _, _, _, *rest), total in sums.items():
        totals.setdefault((organization, NO_TASK, "", NO_TASK, *rest), ScoreCountSums()).add(total, times)
    return totals


def write(sums: dict[Key, ScoreCountSums]) -> None:
    """Add the sums to the counters; delete counters that become 0."""
    if not sums:
        return
    positions = {name: SERIES.index(name) for name in ("task_id", "model_id")}
    candidates = ScoreCount.objects.filter(  # a superset: it filters by each column separately
        task_id__in={key[positions["task_id"]] for key in sums},
        organization_id__in={key[0] for key in sums},
        model_id__in={key[positions["model_id"]] for key in sums},
        start__in={key[-1] for key in sums},
    )
    replaced = []
    for row in candidates.iterator():
        if (new_sums := sums.get(key_of(row))) is not None:
            new_sums.add(ScoreCountSums.of(row))
            replaced.append(row.pk)
    for at in range(0, len(replaced), 500):
        ScoreCount.objects.filter(pk__in=replaced[at : at + 500]).delete()
    rows = (_row(key, total) for key, total in sorted(sums.items(), key=_order) if not total.is_empty)
    ScoreCount.objects.bulk_create(rows, batch_size=500)


def _order(item: tuple[Key, ScoreCountSums]) -> tuple[str, ...]:
    return tuple(map(str, item[0]))


def _row(key: Key, total: ScoreCountSums) -> ScoreCount:
    *series, span, start = key
    return ScoreCount(
        **dict(zip(SERIES, series, strict=True)),
        span=span,
        start=start,
        number=total.moments.count,
        **dict(zip(TOTAL, fixedpoint.split(total.moments.total, len(TOTAL)), strict=True)),
        **dict(zip(SQUARES, fixedpoint.split(total.moments.squares, len(SQUARES)), strict=True)),
        bins={name: count for name, count in total.bins.items() if count},
    )


def key_of(row: ScoreCount) -> Key:
    """The key of a counter."""
    return (*(getattr(row, name) for name in SERIES), CountSpan(row.span), row.start)


def _fold_progress(size: int) -> int:
    tallies = list(TaskTally.objects.order_by("id").values_list("id", "task_id", *PROGRESS)[:size])
    sums: dict[UUID, list[int]] = {}
    for _, task_id, *amounts in tallies:
        total = sums.setdefault(task_id, [0] * len(PROGRESS))
        for place, amount in enumerate(amounts):
            total[place] += amount
    for task_id, total in sorted(sums.items()):
        added = {name: F(name) + amount for name, amount in zip(PROGRESS, total, strict=True)}
        if not TaskCount.objects.filter(pk=task_id).update(**added):
            TaskCount.objects.create(task_id=task_id, **dict(zip(PROGRESS, total, strict=True)))
    bulk.delete(TaskTally, [tally[0] for tally in tallies])
    return len(tallies)
