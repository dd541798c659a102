"""Folding: the jobs that move tallies into five-minute statistics, and old statistics into those of whole days.

So a report reads few rows, however long a grader has been at work.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from graders.models import Grader, GraderStatistic, Tally
from graders.tallies import COUNTERS, Counters

STEP: Final = timedelta(minutes=5)
DAY: Final = timedelta(days=1)
FINE_FOR: Final = timedelta(days=32)  # longer than the longest window that is reported by five minutes
GROUP: Final = 1_000  # tallies folded in one transaction
MAX_GROUPS: Final = 20  # and transactions in one run
_LOCK: Final = 0x67726164666F6C64  # 'gradfold'
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Key = tuple[UUID, UUID, datetime]


def floor_to(step: timedelta, moment: datetime) -> datetime:
    """The start of the step that the moment lies in, counted from 1970."""
    return moment - (moment - _EPOCH) % step


def fold() -> int:
    """Fold what is due, up to GROUP * MAX_GROUPS tallies. Returns how many. Of two at once one folds nothing."""
    folded = 0
    for _ in range(MAX_GROUPS):
        count = _fold_group()
        folded += count
        if count < GROUP:
            break
    return folded


def compact(grader_id: UUID, now: datetime) -> int:
    """Make one row of each old day and version of a grader's statistics. Returns how many rows it became fewer."""
    fine = GraderStatistic.objects.filter(grader_id=grader_id, start__lt=floor_to(DAY, now - FINE_FOR))
    fine = fine.exclude(start__time=time())  # a row at midnight may be fine too, and may stay alone
    days = {floor_to(DAY, start) for start in fine.values_list("start", flat=True)}
    return sum(_compact_day(grader_id, day) for day in sorted(days))


@transaction.atomic
def _compact_day(grader_id: UUID, day: datetime) -> int:
    if not _alone():
        return 0
    old = GraderStatistic.objects.filter(grader_id=grader_id, start__gte=day, start__lt=day + DAY)
    sums: dict[Key, Counters] = {}
    for row in (rows := list(old)):
        sums.setdefault((grader_id, row.version_id, day), Counters()).add(*_counters(row))
    GraderStatistic.objects.filter(pk__in=[row.pk for row in rows]).delete()
    _write(sums)
    return len(rows) - len(sums)


@transaction.atomic
def _fold_group() -> int:
    if not _alone():
        return 0
    tallies = list(Tally.objects.order_by("id")[:GROUP])
    if not tallies:
        return 0
    existing = set(Grader.objects.filter(pk__in={tally.grader_id for tally in tallies}).values_list("pk", flat=True))
    sums: dict[Key, Counters] = {}
    for tally in tallies:
        if tally.grader_id in existing:
            key = (tally.grader_id, tally.version_id, floor_to(STEP, tally.at))
            sums.setdefault(key, Counters()).add(*_counters(tally))
    _write(sums)
    Tally.objects.filter(pk__in=[tally.pk for tally in tallies]).delete()
    return len(tallies)


def _alone() -> bool:
    """Whether this transaction is the only one that folds. On the embedded engine the write lock sees to it."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _write(sums: dict[Key, Counters]) -> None:
    kept = {_key(row): row for row in _rows(sums)}
    for key, counters in sums.items():
        if row := kept.get(key):
            counters.add(*_counters(row))
            for name, value in counters.values().items():
                setattr(row, name, value)
    fresh = [
        GraderStatistic(grader_id=grader_id, version_id=version_id, start=start, **counters.values())
        for (grader_id, version_id, start), counters in sums.items()
        if (grader_id, version_id, start) not in kept
    ]
    GraderStatistic.objects.bulk_update([row for key, row in kept.items() if key in sums], COUNTERS, batch_size=50)
    GraderStatistic.objects.bulk_create(fresh)


def _rows(sums: dict[Key, Counters]) -> Iterable[GraderStatistic]:
    """The rows that may exist already: a superset, by each column's values."""
    return GraderStatistic.objects.filter(
        grader_id__in={key[0] for key in sums},
        version_id__in={key[1] for key in sums},
        start__in={key[2] for key in sums},
    )


def _key(row: GraderStatistic) -> Key:
    return (row.grader_id, row.version_id, row.start)


def _counters(row: Tally | GraderStatistic) -> tuple:
    return tuple(getattr(row, name) for name in COUNTERS)
