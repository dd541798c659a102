"""Exact sums of numbers in [0, 1], on both engines and in any order: each is counted in whole units of 10^-12.

Floating-point sums are not safe for every valid number. PostgreSQL refuses an operation whose result underflows
(`5e-324 * 5e-324`), squares of close numbers cancel each other, and the last digits depend on the order. Whole numbers
have none of these problems. A number is rounded to a unit, so a mean or a deviation is at most half a unit (5e-13) off,
and exact where the numbers have twelve decimals or fewer.

A sum of squares exceeds 64 bits early, so a unit count is cut into two limbs (high * 10^6 + low) in the database and
combined in Python, whose integers have no limit. On SQLite a sum of limbs holds nine million numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Func, Sum

UNITS: Final = 10**12  # in 1
LIMB: Final = 10**6
BASE: Final = 10**9  # of columns that hold a large sum
UNITS_SQL: Final = {  # of the column {value}; the same arithmetic as `units`, bit for bit
    "postgresql": "cast(floor({value} * 1e12::float8 + 0.5::float8) as bigint)",
    "sqlite": "cast({value} * 1000000000000.0 + 0.5 as integer)",
}


def units(value: float) -> int:
    """Return how many units a number in [0, 1] has."""
    return int(value * 1e12 + 0.5)


def split(amount: int, size: int) -> tuple[int, ...]:
    """Split a whole number of any size into `size` columns of 64 bits, the lowest first. Columns may be summed."""
    parts = []
    for _ in range(size - 1):
        amount, part = divmod(amount, BASE)
        parts.append(part)
    return (*parts, amount)


def joined(parts: Iterable[int]) -> int:
    """Combine such columns, or their sums, into one number."""
    return sum(int(part) * BASE**place for place, part in enumerate(parts))


class FixedPointUnits(Func):
    """`units` of a column of numbers in [0, 1], by the database."""

    output_field = BigIntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template=UNITS_SQL["postgresql"].format(value="(%(expressions)s)"))

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template=UNITS_SQL["sqlite"].format(value="(%(expressions)s)"))


@dataclass(slots=True)
class Moments:
    """Count, sum and sum of squares of numbers, the sums in units and in squares of units."""

    count: int = 0
    total: int = 0
    squares: int = 0

    def add(self, count: int, total: int, squares: int) -> None:
        """Add the sums of more numbers; negative sums remove numbers."""
        self.count += count
        self.total += total
        self.squares += squares

    def note(self, values: Iterable[int], sign: int = 1) -> None:
        """Add numbers in units; `sign=-1` removes them."""
        numbers = list(values)
        self.add(sign * len(numbers), sign * sum(numbers), sign * sum(value * value for value in numbers))

    @property
    def mean(self) -> float | None:
        """The mean; None without numbers."""
        return self.total / (self.count * UNITS) if self.count else None

    @property
    def std(self) -> float | None:
        """The population's standard deviation; None without numbers."""
        if not self.count:
            return None
        # sqrt(n * squares - total^2) / n, with 40 further bits, in whole numbers: nothing cancels and nothing overflows
        spread = max(0, self.count * self.squares - self.total * self.total)
        return isqrt(spread << 80) / ((self.count * UNITS) << 40)


def sums(field: str, **options: Any) -> dict[str, Any]:
    """Return aggregates of a column by name, from which `moments` computes its Moments.

    options  of each aggregate, such as `filter`
    """
    high = ExpressionWrapper(FixedPointUnits(F(field)) / LIMB, BigIntegerField())
    low = ExpressionWrapper(FixedPointUnits(F(field)) % LIMB, BigIntegerField())
    return {
        "count": Count(field, **options),
        "high": Sum(high, **options),
        "low": Sum(low, **options),
        "high_high": Sum(ExpressionWrapper(high * high, BigIntegerField()), **options),
        "high_low": Sum(ExpressionWrapper(high * low, BigIntegerField()), **options),
        "low_low": Sum(ExpressionWrapper(low * low, BigIntegerField()), **options),
    }


def moments(row: Iterable[Any]) -> Moments:
    """Compute the Moments from a row of `sums`, in its order."""
    count, high, low, high_high, high_low, low_low = (int(amount or 0) for amount in row)
    return Moments(count, high * LIMB + low, high_high * LIMB * LIMB + 2 * high_low * LIMB + low_low)
