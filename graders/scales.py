"""Scales of grader versions: the range of their raw values, and the value from 0 to 1 that a raw value corresponds to.

The arithmetic is exact and rounds once, so the ends of a scale are exactly 0 and 1, and no step can overflow.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, ulp
from typing import Final

# How far beyond an end a raw value may be because a float was rounded: a share of the greatest number of the scale.
ROUNDING: Final = Fraction(ulp(1.0))


class ScaleError(ValueError):
    """The ends of a scale, or a value on it, are impossible. The message says what to enter instead."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A grader's own scale: two finite ends, the minimum below the maximum.

    raises ScaleError
    """

    minimum: float = 0.0
    maximum: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.minimum) and isfinite(self.maximum)):
            raise ScaleError(f"The scale from {self.minimum} to {self.maximum} has no end. Enter two finite numbers.")
        if not self.minimum < self.maximum:
            detail = f"The scale's minimum ({self.minimum:g}) must be less than its maximum ({self.maximum:g})."
            raise ScaleError(f"{detail} Enter a greater maximum.")

    def value_of(self, raw_value: float) -> float:
        """Return the value, from 0 to 1, of a raw value. Beyond an end by no more than ROUNDING it counts as the end.

        raises ScaleError for any other raw value that is not on the scale
        """
        if not isfinite(raw_value):
            raise self._refusal(raw_value)
        minimum, maximum, exact = Fraction(self.minimum), Fraction(self.maximum), Fraction(raw_value)
        span = maximum - minimum
        if max(minimum - exact, exact - maximum) > ROUNDING * max(span, abs(minimum), abs(maximum)):
            raise self._refusal(raw_value)
        return float((min(max(exact, minimum), maximum) - minimum) / span)

    def raw_of(self, value: float) -> float:
        """Return the raw value of a value from 0 to 1: minimum + value × (maximum − minimum).

        raises ScaleError for another value
        """
        if not 0 <= value <= 1:
            raise ScaleError(f"The value {value} must be from 0 to 1.")
        if self == UNIT:
            return value
        minimum = Fraction(self.minimum)
        return float(minimum + Fraction(value) * (Fraction(self.maximum) - minimum))

    def _refusal(self, raw_value: float) -> ScaleError:
        return ScaleError(f"The raw value {raw_value} must be from {self.minimum:g} to {self.maximum:g}.")


UNIT: Final = Scale()
