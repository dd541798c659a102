"""Frozen dataclasses of the API's responses about completions and scores.

Names are the API's in snake_case; a member without a value is None; JSON that users wrote (metadata, messages,
schemas) stays unchanged. `unreadable` names the members that are None because the server cannot decrypt them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from .errors import FieldError

T = TypeVar("T")

FINAL_STATUSES = frozenset({"completed", "failed"})


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list: `items`. Iteration continues through the following pages, with one request each.

    total                 rows of all pages; None if the page was requested by cursor
    total_is_lower_bound  the list has at least `total` rows: the server counts up to 10,000
    """

    items: tuple[T, ...]
    limit: int | None
    offset: int | None
    total: int | None
    next_cursor: str | None
    following: Callable[[Page[T]], Page[T] | None] | None = field(default=None, repr=False, compare=False)
    total_is_lower_bound: bool = False

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self
        while page is not None:
            yield from page.items
            page = page.next_page()

    def next_page(self) -> Page[T] | None:
        """Request the page after this one; return None after the last."""
        return self.following(self) if self.following is not None else None

    def __len__(self) -> int:
        return len(self.items)


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
class Completion:
    """One answer of one model to one prompt. status: 'pending', 'processing', 'completed' or 'failed'."""

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


@dataclass(frozen=True)
class Dimension:
    """One aspect of a score; value and weight in 0..1."""

    name: str
    value: float
    weight: float | None


@dataclass(frozen=True)
class Score:
    """One grader version's score of one completion: value and confidence in 0..1, raw_value on its own scale.

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


@dataclass(frozen=True)
class ExportFile:
    """The result of a written export. `path` is None for a file object; `sha256` is that of the bytes written."""

    path: str | None
    bytes: int
    sha256: str
