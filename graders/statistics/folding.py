"""Fold tallies into statistics of five minutes and of hours, and compact old statistics into whole days.

So a report reads few rows, however long a grader has been in use. Every counter is written to both tables in one
transaction, so both have the same sums: reports read hours for long periods, and five minutes at their edges.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from graders.models import Grader, GraderCounters, GraderHour, GraderStatistic, Tally
from graders.statistics.tallies import COUNTERS, CounterSums

STEP: Final = timedelta(minutes=5)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
FINE_FOR: Final = timedelta(days=32)  # longer than the longest window that is reported by five minutes
GROUP: Final = 1_000  # tallies folded in one transaction
MAX_GROUPS: Final = 20  # and transactions in one run
COMPACTED: Final = 10_000  # rows of a grader that one clean-up compacts; the next one goes on
_LOCK: Final = 0x67726164666F6C64  # 'gradfold'
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Key = tuple[UUID, UUID, datetime]  # grader, version, start
Table = type[GraderStatistic] | type[GraderHour]


def floor_to(step: timedelta, moment: datetime) -> datetime:
    """Return the start of the step that contains the moment; steps are counted from 1970."""
    return moment - (moment - _EPOCH) % step


def fold() -> int:
    """Fold up to GROUP * MAX_GROUPS tallies; return how many. Of two folds at the same time, one does nothing."""
    folded = 0
    for _ in range(MAX_GROUPS):
        count = _fold_group()
        folded += count
        if count < GROUP:
            break
    return folded


def compact(grader_id: UUID, now: datetime) -> int:
    """Merge a grader's old statistics into one row a day and version; return by how many rows the tables shrank."""
    return sum(_compact(table, grader_id, now) for table in (GraderStatistic, GraderHour))


def _compact(table: Table, grader_id: UUID, now: datetime) -> int:
    fine = table.objects.filter(grader_id=grader_id, start__lt=floor_to(DAY, now - FINE_FOR))
    fine = fine.exclude(start__time=time())  # a row at midnight may be fine too, and may stay unmerged
    oldest = fine.order_by("start").values_list("start", flat=True)[:COMPACTED]
    days = {floor_to(DAY, start) for start in oldest}
    return sum(_compact_day(table, grader_id, day) for day in sorted(days))


@transaction.atomic
def _compact_day(table: Table, grader_id: UUID, day: datetime) -> int:
    if not _alone():
        return 0
    old = table.objects.filter(grader_id=grader_id, start__gte=day, start__lt=day + DAY)
    sums: dict[Key, CounterSums] = {}
    for row in (rows := list(old)):
        sums.setdefault((grader_id, row.version_id, day), CounterSums()).add(*_counters(row))
    table.objects.filter(pk__in=[row.pk for row in rows]).delete()
    _write(table, sums)
    return len(rows) - len(sums)


@transaction.atomic
def _fold_group() -> int:
    if not _alone():
        return 0
    tallies = list(Tally.objects.order_by("id")[:GROUP])
    if not tallies:
        return 0
    existing = set(Grader.objects.filter(pk__in={tally.grader_id for tally in tallies}).values_list("pk", flat=True))
    counted = [tally for tally in tallies if tally.grader_id in existing]
    _write(GraderStatistic, _summed(counted, STEP))
    _write(GraderHour, _summed(counted, HOUR))
    Tally.objects.filter(pk__in=[tally.pk for tally in tallies]).delete()
    return len(tallies)


def _alone() -> bool:
    """Return whether this transaction is the only one that folds. On SQLite, the write lock ensures it."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _summed(tallies: Iterable[Tally], step: timedelta) -> dict[Key, CounterSums]:
    sums: dict[Key, CounterSums] = {}
    for tally in tallies:
        key = (tally.grader_id, tally.version_id, floor_to(step, tally.at))
        sums.setdefault(key, CounterSums()).add(*_counters(tally))
    return sums


def _write(table: Table, sums: dict[Key, CounterSums]) -> None:
    """Add the sums to the table's rows. This also changes `sums` to the new values of the rows."""
    existing_rows = {_key(row): row for row in _rows(table, sums)}
    for key, counters in sums.items():
        if row := existing_rows.get(key):
            counters.add(*_counters(row))
            for name, value in counters.values().items():
                setattr(row, name, value)
    fresh: list[Any] = [
        table(grader_id=grader_id, version_id=version_id, start=start, **counters.values())
        for (grader_id, version_id, start), counters in sums.items()
        if (grader_id, version_id, start) not in existing_rows
    ]
    changed: list[Any] = [row for key, row in existing_rows.items() if key in sums]
    table.objects.bulk_update(changed, COUNTERS, batch_size=50)
    table.objects.bulk_create(fresh)


def _rows(table: Table, sums: dict[Key, CounterSums]) -> Iterable[GraderStatistic | GraderHour]:
    """Return a superset of the rows that exist for the sums, selected by the values of each column."""
    return table.objects.filter(
        grader_id__in={key[0] for key in sums},
        version_id__in={key[1] for key in sums},
        start__in={key[2] for key in sums},
    )


def _key(row: GraderStatistic | GraderHour) -> Key:
    return (row.grader_id, row.version_id, row.start)


def _counters(row: GraderCounters) -> tuple:
    return tuple(getattr(row, name) for name in COUNTERS)
