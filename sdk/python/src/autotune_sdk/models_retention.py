"""What the API answers about erasures and legal holds, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Erasure:
    """A request that texts go. `erased` and `held` (by a legal hold, so left) count completions so far."""

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
    """What must stay until it is released; without an id of anything: the whole organization's."""

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
