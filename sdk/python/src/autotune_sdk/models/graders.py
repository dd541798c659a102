"""Frozen dataclasses of the API's responses about graders."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from typing import Any

from .. import _secret_files


@dataclass(frozen=True)
class Capabilities:
    """The capabilities that a grader reports."""

    max_batch_size: int | None = None
    supports_dimensions: bool | None = None
    supports_explanations: bool | None = None
    supports_async: bool | None = None
    avg_latency_ms: float | None = None
    domains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Authentication:
    """The active secrets, by their public ids."""

    scheme: str
    key_id: str | None
    previous_key_id: str | None
    previous_valid_until: datetime | None


@dataclass(frozen=True)
class Limits:
    """The limits for calls to a grader.

    rate_per_minute  completions, not calls; None: no limit
    max_concurrency  calls in progress
    """

    rate_per_minute: int | None = None
    max_concurrency: int | None = None
    timeout_ms: int | None = None
    batch_timeout_ms: int | None = None


@dataclass(frozen=True)
class Redaction:
    """The parts of a grader's responses that are hidden from consumers."""

    reasoning: bool | None = None
    dimensions: bool | None = None


@dataclass(frozen=True)
class Grader:
    """A grader. kind: 'endpoint' or 'rubric'; status: 'active', 'inactive' or 'degraded'."""

    id: str
    name: str
    description: str | None
    kind: str
    endpoint: str | None
    rubric: Any
    owner: str | None
    created_by: str | None
    capabilities: Capabilities | None
    authentication: Authentication | None
    status: str
    visibility: str
    version: str | None
    limits: Limits | None
    pins: tuple[str, ...]
    redaction: Redaction | None
    verified_at: datetime | None
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True)
class Credentials:
    """A grader's secret, shown once. Store it; it is left out of repr.

    None in a response that was repeated for an idempotency key.
    """

    grader_id: str | None
    shared_secret: str | None = field(repr=False)

    def save_secret(self, path: str | PathLike[str]) -> None:
        """Write the secret to a file that only you can read. Raises NoSecret if the response has none."""
        _secret_files.save(path, self.shared_secret)


@dataclass(frozen=True)
class GraderRegistration:
    """A grader, with its credentials if a secret was created."""

    grader: Grader
    credentials: Credentials | None

    def save_secret(self, path: str | PathLike[str]) -> None:
        """Write the secret to a file that only you can read. Raises NoSecret if the response has none."""
        _secret_files.save(path, self.credentials.shared_secret if self.credentials else None)


@dataclass(frozen=True)
class Check:
    """One check of a verification."""

    name: str
    passed: bool
    detail: str | None
    latency_ms: float | None


@dataclass(frozen=True)
class Verification:
    """The result of a verification: whether a grader follows the protocol, check by check."""

    verified: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class ErrorCount:
    """The number of calls that failed with one code."""

    code: str
    count: int


@dataclass(frozen=True)
class GraderStats:
    """Statistics of a grader over a period. `score_distribution` has 10 buckets; `timeline` is in the API's form.

    Of another organization's grader, `total_scored` is rounded down, and only `error_rate` and the percentiles follow.
    """

    total_scored: int
    avg_latency_ms: float | None
    p99_latency_ms: float | None
    error_rate: float | None
    avg_score: float | None
    score_distribution: tuple[Any, ...]
    errors: tuple[ErrorCount, ...]
    timeline: tuple[Any, ...]
    p50_latency_ms: float | None = None


@dataclass(frozen=True)
class GraderVersion:
    """A grader version: what a grader was when it judged, as it reported."""

    id: str
    label: str | None
    digest: str | None
    first_seen_at: datetime | None
    scored: int | None
    avg_score: float | None
