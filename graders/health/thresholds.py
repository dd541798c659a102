"""The thresholds by which pages rate a grader's success rate and latency.

The success rate counts attempts. The 99th percentile of the latency is compared with the timeout of the calls that
Autotune sends to the grader: the batch timeout if it takes batches, the timeout of a single call otherwise.
"""

from dataclasses import dataclass
from typing import Final

from autotune.core.pages.formats import duration, percent
from graders.gateway.types import MAX_BATCH_TIMEOUT_MS, MAX_SCORE_TIMEOUT_MS
from graders.models import Grader

SUCCESS_WARN: Final = 0.99  # a lower share of successful attempts is a warning
SUCCESS_BAD: Final = 0.95
P99_WARN: Final = 0.5  # of the timeout; calls that take longer leave little room
P99_BAD: Final = 0.9
FEW_ATTEMPTS: Final = 20  # with fewer attempts, a low success rate is only a warning


@dataclass(frozen=True, slots=True)
class HealthRating:
    """How good a figure is. `tone`: good, warn, bad, or '' without data; `note`: the threshold that it misses."""

    tone: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class GraderRatings:
    """The ratings of a grader's two measured figures."""

    success: HealthRating
    p99: HealthRating


UNRATED: Final = HealthRating()


def ratings(scored: int, errors: int, p99_ms: float | None, limit_ms: int) -> GraderRatings:
    """Rate the counters of a grader over a window; `limit_ms` as `call_limit_ms` returns it."""
    return GraderRatings(rate_success(scored, errors), rate_p99(p99_ms, limit_ms))


def rate_success(scored: int, errors: int) -> HealthRating:
    """Rate the share of attempts that returned a score."""
    attempts = scored + errors
    if not attempts:
        return UNRATED
    success = scored / attempts
    if success >= SUCCESS_WARN:
        return HealthRating("good")
    if attempts < FEW_ATTEMPTS:
        return HealthRating("warn", f"of only {attempts} attempt{'s' * (attempts > 1)}")
    if success >= SUCCESS_BAD:
        return HealthRating("warn", f"below {percent(SUCCESS_WARN)}")
    return HealthRating("bad", f"below {percent(SUCCESS_BAD)}")


def rate_p99(p99_ms: float | None, limit_ms: int) -> HealthRating:
    """Rate the 99th percentile of the latency against the timeout of the calls."""
    if p99_ms is None:
        return UNRATED
    for share, tone in ((P99_BAD, "bad"), (P99_WARN, "warn")):
        if p99_ms >= share * limit_ms:
            return HealthRating(tone, f"over {percent(share)} of {duration(limit_ms)}")
    return HealthRating("good")


def call_limit_ms(grader: Grader) -> int:
    """Return the timeout of the calls with which Autotune sends work to the grader."""
    if grader.max_batch_size > 1:
        return min(grader.batch_timeout_ms, MAX_BATCH_TIMEOUT_MS)
    return min(grader.timeout_ms, MAX_SCORE_TIMEOUT_MS)
