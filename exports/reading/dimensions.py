"""Find the dimension names of a selection; every record of an export has all of them."""

from itertools import chain
from typing import Any

from django.db import connection
from django.db.models import F, Func, TextField

from autotune.core.connections import release
from autotune.core.errors import Invalid
from exports.reading.ranges import RangeReader

MAX_NAMES = 500


def names(reader: RangeReader) -> list[str]:
    """Return the dimension names of a selection, sorted.

    raises  Invalid if there are more than MAX_NAMES: a grader that invents names must not make every record huge
    """
    scores = reader.scores().filter(dimensions__isnull=False).order_by()
    dimension_names = _distinct(scores) if connection.vendor == "postgresql" else _gathered(scores)
    release()
    if len(dimension_names) > MAX_NAMES:
        raise Invalid.field("?dimensions", "out_of_range", f"more than {MAX_NAMES} names; set taskId or graderId.")
    return sorted(dimension_names)


class _Name(Func):
    """SQL for the name of each member of the list of dimensions."""

    template = "(jsonb_array_elements(%(expressions)s) ->> 'name')"
    output_field = TextField()
    set_returning = True


def _distinct(scores: Any) -> set[str]:
    dimension_names = scores.annotate(dimension=_Name(F("dimensions"))).values_list("dimension", flat=True)
    return set(dimension_names.distinct()[: MAX_NAMES + 1])


def _gathered(scores: Any) -> set[str]:
    """Return the same names where the database cannot expand a list."""
    rows = scores.values_list("dimensions", flat=True).distinct().iterator(chunk_size=1000)
    return {dimension["name"] for dimension in chain.from_iterable(rows)}
