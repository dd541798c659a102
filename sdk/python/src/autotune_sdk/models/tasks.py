"""Frozen dataclasses of the API's responses about tasks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class PanelMember:
    """One grader of a task. part: 'scoring' or 'shadow'."""

    grader_id: str
    weight: float = 1
    part: str = "scoring"


@dataclass(frozen=True)
class Retry:
    """The retry policy: how often and how fast Autotune retries a failed grader call."""

    max_attempts: int
    backoff_ms: int
    max_backoff_ms: int


@dataclass(frozen=True)
class ReviewPolicy:
    """The review rule: scores with a confidence below this wait for a person's decision.

    blind  reviewers see the grader's verdict only after their decision
    """

    below_confidence: float
    blind: bool = False


@dataclass(frozen=True)
class Options:
    """The parts of a score that graders are asked for besides the value."""

    include_dimensions: bool
    include_explanation: bool


@dataclass(frozen=True)
class Retention:
    """How long text is stored; None: without limit."""

    text_days: float | None


@dataclass(frozen=True)
class Task:
    """A task: what a model is asked, and who judges its answers. `version` is the current task version's id."""

    id: str
    name: str
    description: str | None
    system_prompt: str | None
    prompt_template: str | None
    response_schema: Any
    model: Any
    grader_id: str | None
    graders: tuple[PanelMember, ...]
    aggregation: str
    review: ReviewPolicy | None
    retry: Retry
    deadline_ms: int
    options: Options
    retention: Retention | None
    share_text: bool
    metadata: dict[str, Any] | None
    version: str
    archived: bool
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    unreadable: tuple[str, ...] = ()
    use_calibration: bool = False


@dataclass(frozen=True)
class TaskDetail(Task):
    """A task with a summary of its evaluation runs. `recent_runs` holds JSON objects."""

    run_count: int | None = None
    average_score: float | None = None
    recent_runs: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class TaskVersion:
    """A content-addressed snapshot of what defines a task."""

    id: str
    digest: str
    current: bool
    system_prompt: str | None
    prompt_template: str | None
    response_schema: Any
    model: Any
    graders: tuple[PanelMember, ...]
    aggregation: str
    created_at: datetime
    unreadable: tuple[str, ...] = ()
