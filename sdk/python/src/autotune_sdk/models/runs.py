"""Frozen dataclasses of the API's responses about workflow runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .scores import Score, WaitingFor


@dataclass(frozen=True)
class WorkflowRunError:
    """The error of a failed run; the message ends with what must change. fault: 'grader', 'caller' or 'platform'."""

    code: str
    message: str
    fault: str


@dataclass(frozen=True)
class WorkflowRunStep:
    """One event of a run. wake_at: until when it slept or waited after the event."""

    step: str
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    wake_at: datetime | None


@dataclass(frozen=True)
class FailedCall:
    """A call that failed, for the grader's own organization. headers: the names of the answer's headers.

    answer  the beginning of the run's own part of the answer; None if there is none, or if answer_omitted
    items   completions of the call
    """

    url: str | None
    request_id: str | None
    duration_ms: float | None
    items: int | None
    status: int | None
    headers: tuple[str, ...] | None
    answer: str | None
    answer_omitted: bool


@dataclass(frozen=True)
class FailedAttempt:
    """A failed attempt of a run. check: which check of the answer failed. call: None for other organizations."""

    attempt: int
    at: datetime
    code: str
    check: str | None
    advice: str
    message: str | None
    call: FailedCall | None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkflowRun:
    """One completion on its way to one grader's score.

    failed_attempts  the last five, the newest first; empty in lists
    status        'pending', 'running', 'sleeping', 'waiting', 'completed' or 'failed'
    current_step  the step that it is in; None once it is final
    waiting_for   why it has no score yet; None once it is final
    """

    id: str
    completion_id: str
    grader_id: str
    status: str
    current_step: str | None
    attempt: int
    wake_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    result: Score | None
    error: WorkflowRunError | None
    steps: tuple[WorkflowRunStep, ...] = ()
    waiting_for: WaitingFor | None = None
    failed_attempts: tuple[FailedAttempt, ...] = ()


@dataclass(frozen=True)
class RetrySkip:
    """The number of runs that were left unchanged, and why."""

    code: str
    count: int


@dataclass(frozen=True)
class Retried:
    """The result of a retry by filter. more: there are more failed runs than one request can retry."""

    retried: int
    skipped: tuple[RetrySkip, ...]
    more: bool
