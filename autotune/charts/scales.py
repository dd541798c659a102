"""Maps values to places, chooses round ticks, and formats numbers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

NBSP = "\u00a0"  # between a number and what it counts, so that no line breaks there
MAGNITUDES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
MOST_DECIMALS = 4
UNREADABLE = 1e-6  # below it zeros cannot be counted at a glance, so there is an exponent
LEAST_SPAN = 1e-290  # a smaller span cannot be cut into steps: they would be 0
SHORT_FROM = 10_000  # smaller counts are written in full
NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """A straight line from values [low, high] to places [start, end] of a drawing; start may be the larger one."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def finite(values: Iterable[float], what: str = "value") -> None:
    """Raise ValueError for a NaN or an infinity, which cannot be drawn and would be misread as a gap."""
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"a {what} is {value}")


def amounts(values: Iterable[float], what: str = "count") -> None:
    """Raise ValueError for a value that is not an amount: a NaN, an infinity or a negative number."""
    for value in values:
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"a {what} is {value}")


def aware(moments: Iterable[datetime]) -> None:
    """Raise ValueError for a time without a timezone, which is ambiguous."""
    if any(moment.tzinfo is None for moment in moments):
        raise ValueError("a moment has no timezone")


def nice_step(span: float, count: int) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that cuts `span` into at most `count` parts."""
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in NICE if factor * power >= raw * (1 - 1e-9)), 10 * power)


def nice_ticks(low: float, high: float, count: int = 5, *, whole: bool = False) -> list[float]:
    """Return round values from at or below `low` to at or above `high`, at equal distances.

    count   at most so many distances, give or take one
    whole   for counts of things: all ticks are whole numbers
    """
    if high - low <= max(abs(high) * 1e-9, LEAST_SPAN):  # all values look equal: leave room around them
        room = abs(high) * 0.1
        low, high = (0.0, 1.0) if room <= LEAST_SPAN else (low - room, high + room)
    step = nice_step(high - low, count)
    if whole:
        step = max(1.0, float(math.ceil(step)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) if step > 1e-9 else place * step for place in range(first, last + 1)]


def inner_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return the round values within [low, high], for an axis whose ends are given."""
    room = (high - low) * 1e-9
    return [tick for tick in nice_ticks(low, high, count) if low - room <= tick <= high + room]


def short(value: float) -> str:
    """Format a number for a drawing: `1.2 M`, `1,204`, `0.72`, `0.0003`; three significant digits below 1,000."""
    size = abs(value)
    if size >= SHORT_FROM:
        divisor, letter = next(pair for pair in MAGNITUDES if size >= pair[0] * 0.9995)
        scaled = value / divisor
        return f"{_trimmed(f'{scaled:,.0f}' if abs(scaled) >= 99.95 else f'{scaled:.1f}')}{NBSP}{letter}"
    if size >= 1000:
        return f"{value:,.0f}"
    return _trimmed(_plain(value, 3))


def exact(value: float) -> str:
    """Format a number for a table: whole numbers in full with commas, others with up to six significant digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return _trimmed(_plain(value, 6))


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Return one label per tick, all with the decimals that the distance between them needs."""
    peak = max(map(abs, ticks))
    if peak >= SHORT_FROM:
        divisor, letter = next(pair for pair in MAGNITUDES if peak >= pair[0])
        return ["0" if tick == 0 else f"{tick / divisor:g}{NBSP}{letter}" for tick in ticks]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    if step < UNREADABLE:
        return [f"{tick:.6g}" for tick in ticks]
    decimals = next((n for n in range(12) if abs(round(step, n) - step) < step * 1e-6), 12)
    return [f"{0.0 if tick == 0 else tick:,.{decimals}f}" for tick in ticks]


def alike(values: Sequence[float]) -> list[str]:
    """Format a column of numbers as `short` does, but all with the same decimals if these are few."""
    numbers = [short(value) for value in values]
    decimals = max(len(number.partition(".")[2]) for number in numbers)
    if decimals > MOST_DECIMALS or any(abs(value) >= 1000 for value in values):
        return numbers
    return [f"{value:.{decimals}f}" for value in values]


def with_unit(text: str, unit: str) -> str:
    """Return the number with its unit, such as `12 ms`; without a unit only the number."""
    return f"{text}{NBSP}{unit}" if unit else text


def _plain(value: float, digits: int) -> str:
    """Round to `digits` significant digits."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}g}" if abs(value) < UNREADABLE else f"{value:,.{max(places, 0)}f}"


def _trimmed(text: str) -> str:
    if "." not in text or "e" in text:
        return text
    return text.rstrip("0").rstrip(".")


def quantile(counts: Sequence[int], low: float, high: float, share: float) -> float:
    """Return the value below which `share` of the counts lie, as if each bucket were filled evenly.

    counts  per bucket, equally broad, from `low` to `high`; their sum is positive
    """
    goal, passed, breadth = share * sum(counts), 0, (high - low) / len(counts)
    for place, count in enumerate(counts):
        if count and passed + count >= goal:
            return low + breadth * (place + (goal - passed) / count)
        passed += count
    return high
