"""Keeps a record of encrypted values that could not be decrypted: a line in the log and a row for each, once.

Whatever meets such a value goes on without it. The rows are counted by `/metrics`, and deleted when the value can be
read again or is gone (mending.py).
"""

import logging
from collections import OrderedDict
from typing import Final
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Count

from autotune.core.models import DamagedValue

logger = logging.getLogger(__name__)
REMEMBERED: Final = 10_000  # values that a process names in its log once
AT_ONCE: Final = 500

Place = tuple[str, str, UUID]  # table, column, row
_noted: "OrderedDict[Place, None]" = OrderedDict()
_unsaved: dict[Place, None] = {}


def note(table: str, column: str, row: UUID, reason: str) -> None:
    """Record that a value cannot be decrypted. Costs a look into memory where that is known already.

    Inside a transaction the row is written after its commit, else at once; a database that refuses loses nothing.
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
    """Write what was noted and is not in the database yet."""
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
    """How many damaged values are on record, by table and column."""
    save()
    found = DamagedValue.objects.values_list("table", "column").annotate(Count("pk")).order_by("table", "column")
    return {(table, column): count for table, column, count in found}


def forget() -> None:
    """Name everything once more: a value was mended, and may be damaged again."""
    _noted.clear()
    _unsaved.clear()
