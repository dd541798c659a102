"""Chooses units by magnitude, and writes values with them: 16,100 ms is 16.1 s, on an axis and in a sentence.

A unit is a text, such as `MB`, or one of two that have rules of their own:

    ms     a length of time; larger ones are written in seconds, minutes, hours or days
    score  a value from 0 to 1, written as everywhere on the pages
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autotune.charts.scales import NBSP, exact, short, with_unit
from autotune.core.pages import formats

MILLISECONDS, SCORE = "ms", "score"
STEPS_MS = ((86_400_000.0, "d"), (3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s"))
LONGEST_MS = 60 * 86_400_000.0  # below it the pages' own format applies


@dataclass(frozen=True, slots=True)
class AxisUnit:
    """The unit of one axis: how many base units are one of it, and its name, which may be empty."""

    divisor: float = 1.0
    name: str = ""

    def written(self, value: float) -> str:
        """Return a value of the base unit as a table shows it: `16.1234 s`."""
        return with_unit(exact(value / self.divisor), self.name)

    def header(self, text: str) -> str:
        """Return a heading with the unit: `Latency (s)`."""
        return f"{text} ({self.name})" if self.name else text


def axis_unit(values: Iterable[float], unit: str) -> AxisUnit:
    """Return the unit in which an axis with these values is easiest to read."""
    if unit == SCORE:
        return AxisUnit()
    if unit == MILLISECONDS:
        peak = max(map(abs, values), default=0.0)
        return next((AxisUnit(least, name) for least, name in STEPS_MS if peak >= least), AxisUnit(1.0, unit))
    return AxisUnit(1.0, unit)


def measure(value: float, unit: str = "") -> str:
    """Write a value with its unit for a sentence, in the format that the figures of the pages have."""
    if unit == SCORE:
        return formats.score(value)
    if unit == MILLISECONDS and 1 <= value < LONGEST_MS:
        return formats.duration(value).replace(" ", NBSP)
    scale = axis_unit([value], unit)
    return with_unit(short(value / scale.divisor), scale.name)
