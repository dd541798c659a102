"""Responses with the statistics of a grader and of its versions."""

from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination


class ErrorCountOut(ApiStruct):
    code: str
    count: int


class TimelinePointOut(ApiStruct):
    at: str
    scored: int
    errors: int
    avg_score: float | None
    avg_latency_ms: float | None


class GraderStatsOut(ApiStruct):
    """Averages and rates are null if nothing was counted; `scoreDistribution` has bins of 0.1, the last includes 1.

    Other organizations see `totalScored` rounded down to a power of ten, `errorRate` rounded to three digits, and the
    two percentiles. For them, `avgLatencyMs` and `avgScore` are null, and the lists are empty.
    """

    total_scored: int
    avg_latency_ms: float | None
    p50_latency_ms: float | None
    p99_latency_ms: float | None
    error_rate: float | None
    avg_score: float | None
    score_distribution: list[int]
    errors: list[ErrorCountOut]
    timeline: list[TimelinePointOut]


class VersionOut(ApiStruct):
    id: str
    label: str
    digest: str | None
    first_seen_at: str
    scored: int
    avg_score: float | None


class VersionList(ApiStruct):
    versions: list[VersionOut]
    pagination: Pagination
