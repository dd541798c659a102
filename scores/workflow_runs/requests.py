"""Requests about workflow runs."""

from typing import Annotated, Literal

from msgspec import Meta

from autotune.core.api.operations import BodyStruct
from autotune.core.api.pagination import PageQuery
from scores.results.filters import CompletionRef, GraderRef, TaskRef

RunStatusName = Literal["pending", "running", "sleeping", "waiting", "completed", "failed"]
Code = Annotated[str, Meta(min_length=1, max_length=64)]


class WorkflowRunQuery(PageQuery):
    """Filters of the list of runs. `code` is that of the last failed attempt, or of the run once it is `failed`;
    `attemptCode` is that of any failed attempt of the grader in `graderId`, also of runs that recovered."""

    completion_id: CompletionRef | None = None
    grader_id: GraderRef | None = None
    task_id: TaskRef | None = None
    status: RunStatusName | None = None
    code: Code | None = None
    attempt_code: Code | None = None


class RetryWorkflowRuns(BodyStruct):
    """The failed runs to retry, by at least one filter; `status` can only be `failed`."""

    completion_id: CompletionRef | None = None
    grader_id: GraderRef | None = None
    task_id: TaskRef | None = None
    status: Literal["failed"] | None = None
    code: Code | None = None
