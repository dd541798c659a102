"""Records encrypted values that could not be decrypted: one log line and one row for each.

Code that meets such a value goes on without it. `/metrics` counts the rows. An hourly job deletes a row when its
value can be read again or is gone.
"""

import logging
from collections import OrderedDict
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Count

from autotune.core.models import DamagedValue

logger = logging.getLogger(__name__)
REMEMBERED: Final = 10_000  # values that a process remembers, to log each only once
AT_ONCE: Final = 500

Place = tuple[str, str, UUID]  # table, column, row
_noted: "OrderedDict[Place, None]" = OrderedDict()
_unsaved: dict[Place, None] = {}


def note(table: str, column: str, row: UUID, reason: str) -> None:
    """Record that a value cannot be decrypted. For a value on record this costs only a lookup in memory.

    Inside a transaction the row is written after the commit, otherwise at once. If that fails, the next `save` retries.
    """
    place = (table, column, row)
    if place in _noted:
        return
    _noted[place] = None
    if len(_noted) > REMEMBERED:
        _noted.popitem(last=False)
    logger.error("%s.%s of the row %s cannot be decrypted: %s", table, column, row, reason)
    _unsaved[place] = None
    if transaction.get_connection().in_atomic_block:
        transaction.on_commit(save, robust=True)
    else:
        save()


def save() -> None:
    """Write the noted values that are not in the database yet."""
    places = list(_unsaved)[:AT_ONCE]
    if not places:
        return
    try:
        with transaction.atomic():
            rows = [DamagedValue(table=table, column=column, row=row) for table, column, row in places]
            DamagedValue.objects.bulk_create(rows, ignore_conflicts=True)
    except DatabaseError as exc:
        logger.warning("damaged values could not be recorded yet: %s", exc)
        return
    for place in places:
        _unsaved.pop(place, None)


def counts() -> dict[tuple[str, str], int]:
    """Return how many damaged values are on record, by table and column."""
    save()
    rows = DamagedValue.objects.values_list("table", "column").annotate(Count("pk")).order_by("table", "column")
    return {(table, column): count for table, column, count in rows}


def forget() -> None:
    """Log every damaged value again from now on: a repaired value may be damaged again."""
    _noted.clear()
    _unsaved.clear()
