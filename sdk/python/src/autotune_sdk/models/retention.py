"""Frozen dataclasses of the API's responses about erasures and legal holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Erasure:
    """A request to erase text. `erased` and `held` (kept by a legal hold) count completions so far."""

    id: str
    organization_id: str
    completion_id: str | None
    task_id: str | None
    model_id: str | None
    status: str
    erased: int
    held: int
    created_by: str
    created_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True)
class LegalHold:
    """A legal hold: prevents erasure and deletion until it is released; without ids it covers the organization."""

    id: str
    organization_id: str
    completion_id: str | None
    task_id: str | None
    model_id: str | None
    reason: str | None
    created_by: str
    created_at: datetime
    released_by: str | None
    released_at: datetime | None
    unreadable: tuple[str, ...] = ()
