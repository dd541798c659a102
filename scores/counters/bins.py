"""Bins of score values: fine enough for every figure, and exact for values with three decimals or fewer.

Bin 2k holds only the value k/1000; bin 2k + 1 holds the values between k/1000 and (k + 1)/1000, without both ends.
So there are 1,000 bins and the 1,001 points between them. Values are in units of 10^-12 (fixedpoint.py).
"""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import BigIntegerField, ExpressionWrapper, F, Value
from django.db.models.functions import Least

from autotune.core.fixedpoint import UNITS, FixedPointUnits

STEPS: Final = 1_000
STEP: Final = UNITS // STEPS  # units
_ROOM: Final = 1e-9  # around a bin, for bounds that an index can use; a second condition compares the bin exactly


def bin_of(units: int) -> int:
    """The bin of a value in units."""
    step, rest = divmod(units, STEP)
    return 2 * step + (rest > 0)


def point(bin_: int) -> int | None:
    """The only value of a bin, in units; None for a bin between two points."""
    return None if bin_ % 2 else bin_ // 2 * STEP


def edges(bin_: int) -> tuple[float, float]:
    """Bounds that include all values of the bin, and few others."""
    low = bin_ // 2 / STEPS
    return low - _ROOM, low + bin_ % 2 / STEPS + _ROOM


def expression(field: str) -> Any:
    """The bin of a column's value, computed by the database."""
    units = FixedPointUnits(F(field))
    step = ExpressionWrapper(units / STEP, BigIntegerField())
    rest = Least(ExpressionWrapper(units % STEP, BigIntegerField()), Value(1), output_field=BigIntegerField())
    return ExpressionWrapper(step * 2 + rest, BigIntegerField())


def histogram(counts: Mapping[int, int], size: int) -> list[int]:
    """Sum the counts of bins into `size` equal parts of [0, 1], the last closed; `size` divides 1,000."""
    parts = [0] * size
    for bin_, count in counts.items():
        parts[min(bin_ // 2 * size // STEPS, size - 1)] += count
    return parts
