"""What the API answers about tasks, as frozen dataclasses."""

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
    """How often and how fast a failed grader call is tried again."""

    max_attempts: int
    backoff_ms: int
    max_backoff_ms: int


@dataclass(frozen=True)
class ReviewPolicy:
    """Scores under this confidence wait for a human."""

    below_confidence: float


@dataclass(frozen=True)
class Options:
    """What is asked of graders beside the value."""

    include_dimensions: bool
    include_explanation: bool


@dataclass(frozen=True)
class Retention:
    """How long texts are kept; None for ever."""

    text_days: float | None


@dataclass(frozen=True)
class Task:
    """What is asked of a model, and who judges the answers. `version` is the current task version's id."""

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


@dataclass(frozen=True)
class TaskDetail(Task):
    """A task with its evaluation runs in short. `recent_runs` holds JSON objects."""

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
