"""Frozen dataclasses of the API's responses about scores and rewards."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

FINAL_STATUSES = frozenset({"completed", "failed", "ungraded"})


@dataclass(frozen=True)
class Reward:
    """One completion's scores as one number. used, failed: how many graders are in it, and how many failed."""

    value: float
    confidence: float
    aggregation: str
    used: int
    failed: int
    scored_at: datetime | None


@dataclass(frozen=True)
class Dimension:
    """One aspect of a score; value and weight in 0..1."""

    name: str
    value: float
    weight: float | None


@dataclass(frozen=True)
class Calibrated:
    """The value of a score after a score map, in 0..1, and the map's id."""

    value: float
    map_id: str


@dataclass(frozen=True)
class Score:
    """One grader version's score of one completion: value and confidence in 0..1, raw_value on its own scale.

    calibrated   the value after a score map; None without one
    reused_from  id of the score that this one copies: an equal answer of another model was scored
    """

    id: str | None
    completion_id: str
    grader_id: str | None
    grader_version: str | None
    value: float
    confidence: float
    raw_value: float | None
    scale: Any
    reasoning: str | None
    dimensions: tuple[Dimension, ...]
    reviewed_by: str | None
    receipt: Any
    created_at: datetime | None
    unreadable: tuple[str, ...] = ()
    reused_from: str | None = None
    calibrated: Calibrated | None = None


@dataclass(frozen=True)
class WaitingFor:
    """Why something has no score yet.

    reason  'calling', 'queued', 'retry', 'rate_limited', 'not_before', 'circuit_open', 'paused', 'grader_inactive',
            'reuse', 'model', 'callback' or 'review'
    until   when this ends by itself, if known
    detail  the reason as a sentence
    """

    reason: str
    until: datetime | None
    detail: str


@dataclass(frozen=True)
class Outcome:
    """The result of one completion so far. A reward that does not exist is None, never a zero."""

    completion_id: str
    status: str
    reward: Reward | None

    @property
    def final(self) -> bool:
        """Return whether it is final: waiting will not change it."""
        return self.status in FINAL_STATUSES

    @property
    def value(self) -> float | None:
        """Return the reward's value."""
        return self.reward.value if self.reward else None

    @property
    def confidence(self) -> float | None:
        """Return the reward's confidence."""
        return self.reward.confidence if self.reward else None


@dataclass(frozen=True)
class ScoreResult(Outcome):
    """An outcome with its scores: `score` is the sole grader's, or the panel's reward in a score's shape.

    waiting_for  why there is no score yet; None once it is final, or if the server does not report it
    """

    score: Score | None = None
    scores: tuple[Score, ...] = ()
    waiting_for: WaitingFor | None = None


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of scores, linearly interpolated."""

    p25: float | None
    p50: float | None
    p75: float | None
    p95: float | None


@dataclass(frozen=True)
class Distribution:
    """The distribution of scores; `std` is the population standard deviation."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    percentiles: Percentiles | None


@dataclass(frozen=True)
class ScoreSummary:
    """Statistics over a selection of scores. `histogram` (10 bins of 0.1) and `by_model` are in the API's form."""

    total_records: int
    unscored: int | None
    task_ids: tuple[str, ...]
    model_ids: tuple[str, ...]
    score_distribution: Distribution | None
    histogram: Any
    by_model: Any
