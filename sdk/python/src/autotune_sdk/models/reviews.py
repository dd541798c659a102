"""Frozen dataclasses of the API's responses about reviews."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .scores import Dimension


@dataclass(frozen=True)
class Review:
    """A score that waits for a person's decision. status: 'open', 'approved', 'rejected', 'expired' or 'cancelled'.

    value      the decided value; None until then, and if the score was not approved
    blind      the preliminary members, `reasoning` and `dimensions` are empty until a decision, and an approval needs a
               value
    scale      {"min", "max"} of the grader version; `preliminary_raw_value` and `raw_value` are the values on it
    reasoning  this and the members up to `response` inform the decision; None in lists
    """

    id: str
    workflow_run_id: str
    completion_id: str
    task_id: str
    grader_id: str
    grader_version: str
    status: str
    preliminary_score: float | None
    preliminary_confidence: float | None
    claimed_by: str | None
    claimed_until: datetime | None
    decided_by: str | None
    decided_at: datetime | None
    value: float | None
    review_url: str
    expires_at: datetime
    created_at: datetime
    reasoning: str | None = None
    dimensions: tuple[Dimension, ...] = ()
    explanation: str | None = None
    task_name: str | None = None
    model_id: str | None = None
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    response: str | None = None
    preliminary_raw_value: float | None = None
    raw_value: float | None = None
    scale: Any = None
    blind: bool = False
