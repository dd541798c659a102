"""The rewards and metrics of one call of a scorer, and its totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from ..models.rewards import LiveReward


@dataclass(frozen=True)
class CallMetrics:
    """Metrics of one call.

    codes    number of answers without a reward by code ('pending' if not scored in time)
    reasons  for each code a sentence about its first answer, if there is one
    """

    items: int
    scored: int
    seconds: float
    mean: float | None
    codes: Mapping[str, int]
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def unscored(self) -> int:
        """Return the number of answers without a reward."""
        return self.items - self.scored


@dataclass(frozen=True)
class Scored:
    """The rewards of one call, in the order of its items: `values` with `missing` applied, `rewards` as they came."""

    values: list[float | None]
    rewards: list[LiveReward]
    metrics: CallMetrics

    @property
    def numbers(self) -> list[float]:
        """Return the values of a scorer whose `missing` is not None, so that no value is None."""
        return [cast(float, value) for value in self.values]


@dataclass
class Totals:
    """Totals over all calls of a scorer."""

    calls: int = 0
    items: int = 0
    scored: int = 0
    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, one: CallMetrics) -> None:
        """Add the metrics of a call."""
        self.calls += 1
        self.items += one.items
        self.scored += one.scored
        self.seconds += one.seconds
        self.codes.update(one.codes)
