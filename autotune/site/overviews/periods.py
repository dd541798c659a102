"""The times that the overview's charts can tell of."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from graders.statistics.folding import floor_to


@dataclass(frozen=True, slots=True)
class Period:
    """A time that ends now.

    step    what one column or point of a chart stands for
    bucket  what is summed up by the database, a part of a step; never less than the statistics' five minutes
    digits  how much of a moment's text names its bucket, or a part of it: `2026-11-28 15:4`
    """

    name: str
    words: str
    span: timedelta
    step: timedelta
    bucket: timedelta
    digits: int

    @property
    def label(self) -> str:
        """As a choice: `1 hour`, where the heading says `Last hour`."""
        return self.words if self.words[0].isdigit() else f"1 {self.words}"

    def since(self, now: datetime) -> datetime:
        """When the first step begins."""
        return floor_to(self.step, now - self.span) + self.step

    def steps(self, now: datetime) -> list[datetime]:
        """When each step begins, the one at hand included."""
        first = self.since(now)
        return [first + self.step * number for number in range((now - first) // self.step + 1)]


MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
PERIODS: Final = (
    Period("1h", "hour", HOUR, 5 * MINUTE, 5 * MINUTE, 16),
    Period("24h", "24 hours", DAY, HOUR, 10 * MINUTE, 15),
    Period("7d", "7 days", 7 * DAY, 6 * HOUR, HOUR, 13),
    Period("30d", "30 days", 30 * DAY, DAY, HOUR, 13),
)
USUAL: Final = PERIODS[1]


def chosen(name: str) -> Period:
    """The period of that name, else the usual one."""
    return next((period for period in PERIODS if period.name == name), USUAL)
