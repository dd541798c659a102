"""Frozen dataclasses of the API's responses about completions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import FieldError
from .scores import Reward


@dataclass(frozen=True)
class Completion:
    """One answer of one model to one prompt.

    status    'pending', 'processing', 'completed', 'failed', or 'ungraded' for a deck without graders
    held_out  never to be trained on: no list of scores, figure, pair or export includes it
    """

    id: str
    task_id: str
    task_version: str
    model_id: str
    prompt: str | None
    response: str | None
    messages: list[dict[str, Any]] | None
    external_id: str | None
    metadata: dict[str, Any] | None
    priority: str
    source: str
    status: str
    reward: Reward | None
    workflow_run_ids: tuple[str, ...]
    erased_at: datetime | None
    created_at: datetime
    unreadable: tuple[str, ...] = ()
    held_out: bool = False


@dataclass(frozen=True)
class Submitted:
    """The response to one submission. `existing`: the server already had a completion with this external id."""

    completion: Completion
    estimated_score_time_ms: float | None
    workflow_run_id: str | None
    workflow_run_ids: tuple[str, ...]
    status: str | None
    existing: bool = False


@dataclass(frozen=True)
class BatchItem:
    """One completion of a batch. `index`: its position in the submitted sequence."""

    id: str
    external_id: str | None
    workflow_run_ids: tuple[str, ...]
    existing: bool = False
    index: int | None = None


@dataclass(frozen=True)
class BatchSubmitted:
    """The response to a batch, in request order. `errors` is filled only with `partial=True`."""

    completions: tuple[BatchItem, ...]
    estimated_score_time_ms: float | None
    errors: tuple[FieldError, ...] = ()

    @property
    def ids(self) -> list[str]:
        """Return the completions' ids, in request order."""
        return [item.id for item in self.completions]
