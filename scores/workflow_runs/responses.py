"""Responses about workflow runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import UNSET, UnsetType

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.crypto.fields import LegibleRow
from autotune.core.pages import sentences
from scores.models import WorkflowRun
from scores.results import failure_codes
from scores.results.privacy import ViewerSight
from scores.results.scores import ScoreOut
from scores.results.waiting_reasons import WaitExplanation
from scores.results.waiting_responses import WaitingForOut
from scores.states import RunStatus
from scores.workflow_runs import steps
from scores.workflow_runs.steps import RunStep

MESSAGE_UNREADABLE: Final = "The message of the failure is stored and cannot be decrypted."


class WorkflowRunErrorOut(ApiStruct):
    """Why a run failed. The message ends with what to change; `fault` is grader, caller or platform."""

    code: str
    message: str
    fault: failure_codes.Fault


class WorkflowRunStepOut(ApiStruct):
    """One step of a run's timeline. `wakeAt`: until when the run slept or waited after it."""

    step: str
    attempt: int
    started_at: str | None
    ended_at: str | None
    outcome: str | None
    wake_at: str | None


class FailedCallOut(ApiStruct):
    """A call that failed, for the grader's own organization. `headers` are the names of the answer's headers.

    `answer` is the beginning of the run's own part of the answer, with secrets redacted. It is null if there was no
    answer, if `answerOmitted`, and for roles that may not read reasoning. `items`: completions of the call.
    """

    url: str | None
    request_id: str | None
    duration_ms: float | None
    items: int | None
    status: int | None
    headers: list[str] | None
    answer: str | None
    answer_omitted: bool


class FailedAttemptOut(ApiStruct):
    """A failed attempt. `check`: which check of the answer failed. `call` is null for other organizations."""

    attempt: int
    at: str
    code: str
    check: str | None
    advice: str
    message: str | None
    call: FailedCallOut | None
    unreadable: list[str] | UnsetType = UNSET


class WorkflowRunOut(ApiStruct):
    """`attempt` counts claims; `wakeAt` is when a sleeping run is due, or until when a waiting one waits.

    `waitingFor` is null once the run is final. `failedAttempts`: the last five, the newest first; absent in lists.
    """

    id: str
    completion_id: str
    grader_id: str
    status: RunStatus
    current_step: str | None
    attempt: int
    wake_at: str | None
    started_at: str | None
    completed_at: str | None
    result: ScoreOut | None
    error: WorkflowRunErrorOut | None
    steps: list[WorkflowRunStepOut]
    waiting_for: WaitingForOut | None = None
    failed_attempts: list[FailedAttemptOut] | UnsetType = UNSET


class WorkflowRunAnswer(ApiStruct):
    workflow_run: WorkflowRunOut


class WorkflowRunPage(ApiStruct):
    workflow_runs: list[WorkflowRunOut]
    pagination: Pagination


class SkippedRunsOut(ApiStruct):
    """How many runs were not retried, with the code of the reason."""

    code: str
    count: int


class RetryResultOut(ApiStruct):
    """`more`: the request reached its limit, and failed runs are left; send it again."""

    retried: int
    skipped: list[SkippedRunsOut]
    more: bool


class RescoreAnswer(ApiStruct):
    workflow_run_ids: list[str]


def run_out(
    run: WorkflowRun, result: ScoreOut | None, sight: ViewerSight, wait: WaitExplanation | None = None
) -> WorkflowRunOut:
    """Return a run as this reader may see it; `sight` has met the grader of a failed run. `wait`: if unfinished."""
    return WorkflowRunOut(
        id=run.public_id,
        completion_id=ids.encode("comp", run.completion_id),
        grader_id=ids.encode("grader", run.grader_id),
        status=RunStatus(run.status),
        current_step=steps.current(run),
        attempt=run.attempt,
        wake_at=_wire(run.wake_at),
        started_at=_wire(run.started_at),
        completed_at=_wire(run.completed_at),
        result=result,
        error=error_of(run, sight),
        steps=step_outs(steps.of(run)),
        waiting_for=wait.out() if wait else None,
    )


def error_of(run: WorkflowRun, sight: ViewerSight) -> WorkflowRunErrorOut | None:
    """Return the error of a failed run; None for any other, even after failed attempts."""
    if run.status != RunStatus.FAILED:
        return None
    return error_out(run.error_code, run, sight)


def error_out(code: str, run: WorkflowRun | None, sight: ViewerSight) -> WorkflowRunErrorOut:
    """Return a failure as this reader may see it: the run's message, if they may read it, and what to change."""
    own_message = ""
    if run is not None and sight.failure(code, run.grader_id):
        text = LegibleRow(run)
        own_message = MESSAGE_UNREADABLE if (message := text.error_message) is None and text.unreadable else message
    return WorkflowRunErrorOut(
        code, sentences.joined(own_message, failure_codes.advice(code)), failure_codes.fault(code)
    )


def step_outs(run_steps: Sequence[RunStep]) -> list[WorkflowRunStepOut]:
    return [
        WorkflowRunStepOut(
            step.step, step.attempt, _wire(step.started_at), _wire(step.ended_at), step.outcome, _wire(step.wake_at)
        )
        for step in run_steps
    ]


def _wire(moment: datetime | None) -> str | None:
    return None if moment is None else clock.wire(moment)
