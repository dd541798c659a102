"""Bins of values: fine enough for every figure, and exact where values have three decimals or fewer.

Bin 2k holds the value k/1000 and no other; bin 2k + 1 holds what lies between k/1000 and (k + 1)/1000, without its
ends. So there are 1,000 bins and the 1,001 points between them. Values are taken in units of 10^-12 (fixedpoint.py).
"""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import BigIntegerField, ExpressionWrapper, F, Value
from django.db.models.functions import Least

from autotune.core.fixedpoint import UNITS, Units

STEPS: Final = 1_000
STEP: Final = UNITS // STEPS  # units
_ROOM: Final = 1e-9  # around a bin, for a bound that an index can use; which bin a value is in is asked exactly


def bin_of(units: int) -> int:
    """The bin of a value, which is in units."""
    step, rest = divmod(units, STEP)
    return 2 * step + (rest > 0)


def point(bin_: int) -> int | None:
    """The only value of a bin, in units; None for one that lies between two points."""
    return None if bin_ % 2 else bin_ // 2 * STEP


def edges(bin_: int) -> tuple[float, float]:
    """Bounds that hold all values of the bin, and few others."""
    low = bin_ // 2 / STEPS
    return low - _ROOM, low + bin_ % 2 / STEPS + _ROOM


def expression(field: str) -> Any:
    """The bin of a column's value, by the database."""
    units = Units(F(field))
    step = ExpressionWrapper(units / STEP, BigIntegerField())
    rest = Least(ExpressionWrapper(units % STEP, BigIntegerField()), Value(1), output_field=BigIntegerField())
    return ExpressionWrapper(step * 2 + rest, BigIntegerField())


def histogram(counts: Mapping[int, int], size: int) -> list[int]:
    """The counts of bins as `size` equal parts of [0, 1], the last closed; `size` divides 1,000."""
    parts = [0] * size
    for bin_, count in counts.items():
        parts[min(bin_ // 2 * size // STEPS, size - 1)] += count
    return parts
