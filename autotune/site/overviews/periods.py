"""The periods that the overview's charts can show."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from graders.statistics.folding import floor_to


@dataclass(frozen=True, slots=True)
class OverviewPeriod:
    """A period that ends now.

    step    time that one column or point of a chart covers
    bucket  part of a step that the database sums up; never less than the statistics' five minutes
    digits  how many characters of a timestamp name its bucket, or a part of it: 15 for `2026-11-28 15:4`
    """

    name: str
    words: str
    span: timedelta
    step: timedelta
    bucket: timedelta
    digits: int

    @property
    def label(self) -> str:
        """Return the name of the choice: `1 hour`, where the heading says `Last hour`."""
        return self.words if self.words[0].isdigit() else f"1 {self.words}"

    def since(self, now: datetime) -> datetime:
        """Return when the first step begins."""
        return floor_to(self.step, now - self.span) + self.step

    def steps(self, now: datetime) -> list[datetime]:
        """Return when each step begins, the current one included."""
        first = self.since(now)
        return [first + self.step * number for number in range((now - first) // self.step + 1)]


MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
PERIODS: Final = (
    OverviewPeriod("1h", "hour", HOUR, 5 * MINUTE, 5 * MINUTE, 16),
    OverviewPeriod("24h", "24 hours", DAY, HOUR, 10 * MINUTE, 15),
    OverviewPeriod("7d", "7 days", 7 * DAY, 6 * HOUR, HOUR, 13),
    OverviewPeriod("30d", "30 days", 30 * DAY, DAY, HOUR, 13),
)
USUAL: Final = PERIODS[1]


def chosen(name: str) -> OverviewPeriod:
    """Return the period of that name, or else the usual one."""
    return next((period for period in PERIODS if period.name == name), USUAL)
