"""The statistics of a listed grader as other organizations see them: on its card and page, and in the API.

They see a rounded volume, the error rate and two percentiles of the latency. Everything else (exact counts, scores,
errors by code, the timeline) belongs to the grader's own organization.
"""

from dataclasses import dataclass
from typing import Final, Self

from graders.statistics.board import GraderMeasurements
from graders.statistics.responses import GraderStatsOut

VOLUMES: Final = (1_000_000, 100_000, 10_000, 1_000, 100)
RATE_DIGITS: Final = 3  # an exact rate of few attempts would reveal their number


@dataclass(frozen=True, slots=True)
class PublicFigures:
    """What is public of a grader's statistics over a window.

    volume         the greatest of VOLUMES that the number of scores exceeds, or 0
    error_rate     errors / attempts, rounded to RATE_DIGITS; None without attempts
    p50_ms, p99_ms percentiles of the latency; None without scores
    """

    volume: int
    error_rate: float | None
    p50_ms: float | None
    p99_ms: float | None

    @classmethod
    def of_card(cls, measured: GraderMeasurements) -> Self:
        return cls(volume(measured.scored), _rounded(measured.error_rate), measured.p50_ms, measured.p99_ms)

    @classmethod
    def of_report(cls, report: GraderStatsOut) -> Self:
        rate = _rounded(report.error_rate)
        return cls(volume(report.total_scored), rate, report.p50_latency_ms, report.p99_latency_ms)

    @property
    def volume_words(self) -> str:
        """The volume as pages show it."""
        return f"over {self.volume:,}" if self.volume else f"up to {VOLUMES[-1]:,}"

    def stats_out(self) -> GraderStatsOut:
        """Return the statistics as the API shows them to other organizations."""
        return GraderStatsOut(
            total_scored=self.volume,
            avg_latency_ms=None,
            p50_latency_ms=self.p50_ms,
            p99_latency_ms=self.p99_ms,
            error_rate=self.error_rate,
            avg_score=None,
            score_distribution=[],
            errors=[],
            timeline=[],
        )


def volume(scored: int) -> int:
    """Return a number of scores rounded down to the greatest of VOLUMES that it exceeds; 0 below the least."""
    return next((step for step in VOLUMES if scored > step), 0)


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, RATE_DIGITS)
