"""What the API answers about graders, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from typing import Any

from . import _secret_files


@dataclass(frozen=True)
class Capabilities:
    """What a grader says it can do."""

    max_batch_size: int | None = None
    supports_dimensions: bool | None = None
    supports_explanations: bool | None = None
    supports_async: bool | None = None
    avg_latency_ms: float | None = None
    domains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Authentication:
    """Which secrets are active, by their public ids."""

    scheme: str
    key_id: str | None
    previous_key_id: str | None
    previous_valid_until: datetime | None


@dataclass(frozen=True)
class Limits:
    """How hard a grader may be called."""

    rate_per_minute: int | None = None
    max_concurrency: int | None = None
    timeout_ms: int | None = None
    batch_timeout_ms: int | None = None


@dataclass(frozen=True)
class Redaction:
    """What of a grader's answers is hidden from consumers."""

    reasoning: bool | None = None
    dimensions: bool | None = None


@dataclass(frozen=True)
class Grader:
    """Who judges. kind: 'endpoint' or 'rubric'; status: 'active', 'inactive' or 'degraded'."""

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
    """A grader's secret, shown once. Keep it; it is left out of repr.

    None in an answer that was repeated for an idempotency key.
    """

    grader_id: str | None
    shared_secret: str | None = field(repr=False)

    def save_secret(self, path: str | PathLike[str]) -> None:
        """Write the secret to a file that only you can read. Raises NoSecret if the answer has none."""
        _secret_files.save(path, self.shared_secret)


@dataclass(frozen=True)
class GraderRegistration:
    """A grader, with its credentials when a secret was made."""

    grader: Grader
    credentials: Credentials | None

    def save_secret(self, path: str | PathLike[str]) -> None:
        """Write the secret to a file that only you can read. Raises NoSecret if the answer has none."""
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
    """Whether a grader answers as the protocol asks, check by check."""

    verified: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class ErrorCount:
    """How often calls failed with one code."""

    code: str
    count: int


@dataclass(frozen=True)
class GraderStats:
    """Figures of a grader over a window. `score_distribution` has 10 buckets; `timeline` is as the API writes it."""

    total_scored: int
    avg_latency_ms: float | None
    p99_latency_ms: float | None
    error_rate: float | None
    avg_score: float | None
    score_distribution: tuple[Any, ...]
    errors: tuple[ErrorCount, ...]
    timeline: tuple[Any, ...]


@dataclass(frozen=True)
class GraderVersion:
    """What a grader was when it judged."""

    id: str
    label: str | None
    digest: str | None
    first_seen_at: datetime | None
    scored: int | None
    avg_score: float | None
