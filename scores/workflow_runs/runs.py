"""Read workflow runs: one, or a page of those that match filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from msgspec import structs

from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core.api import pagination
from autotune.core.errors import Invalid, NotFound
from graders.models import Grader
from scores.models import AttemptEvidence, Score, WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.results import scores as score_results
from scores.results import waiting_reasons
from scores.results.privacy import ViewerSight
from scores.states import RunStatus
from scores.workflow_runs import attempts
from scores.workflow_runs.requests import RetryWorkflowRuns, WorkflowRunQuery
from scores.workflow_runs.responses import WorkflowRunOut, WorkflowRunPage, run_out
from tasks.models import Completion, PanelMember, Task

ORDER = pagination.SortOrder("workflow-runs", {"createdAt": "id"})  # ids are UUIDv7: their order is that of creation
MAX_TASKS = 100


@dataclass(frozen=True, slots=True)
class WorkflowRunFilter:
    """A filter of runs by completion, grader, task, status, failure code, and the code of any failed attempt."""

    completion: UUID | None = None
    grader: UUID | None = None
    task: UUID | None = None
    status: str | None = None
    code: str | None = None
    attempt_code: str | None = None

    @classmethod
    def of(cls, filters: WorkflowRunQuery | RetryWorkflowRuns) -> "WorkflowRunFilter":
        references = (filters.completion_id, filters.grader_id, filters.task_id)
        completion, grader, task = (reference.uuid if reference else None for reference in references)
        attempt_code = filters.attempt_code if isinstance(filters, WorkflowRunQuery) else None
        return cls(completion, grader, task, filters.status, filters.code, attempt_code)

    def __bool__(self) -> bool:
        return self != WorkflowRunFilter()

    def apply(self, queryset: WorkflowRunQuerySet) -> WorkflowRunQuerySet:
        """Return the runs that match all of the filters.

        Runs have no index by task or grader (each would cost every save); completions have one by task. With a filter
        on the completion's task too, the database finds the runs of a task with few among many.
        """
        lookups = {
            "completion_id": self.completion,
            "grader_id": self.grader,
            "task_id": self.task,
            "completion__task_id": self.task,
            "completion__task_id__in": self._tasks_of_grader(),
            "status": self.status,
            "error_code": self.code,
            "pk__in": self._runs_by_attempt(),
        }
        return queryset.filter(**{name: value for name, value in lookups.items() if value is not None})

    def _runs_by_attempt(self) -> QuerySet[AttemptEvidence, Any] | None:
        """Return the runs with an attempt that failed with the code; the index of evidence begins with the grader."""
        if self.attempt_code is None or self.grader is None:
            return None
        return AttemptEvidence.objects.filter(grader_id=self.grader, code=self.attempt_code).values("run_id")

    def _tasks_of_grader(self) -> list[UUID] | None:
        """Return the tasks that the grader judges or has judged; None if they do not narrow the filter, or are many."""
        if (
            self.grader is None
            or self.task is not None
            or self.completion is not None
            or self.status == RunStatus.FAILED
        ):
            return None
        members = PanelMember.objects.filter(grader=self.grader).values_list("task_version__task_id", flat=True)
        tasks = list(members.order_by().distinct()[: MAX_TASKS + 1])
        return tasks if len(tasks) <= MAX_TASKS else None


def listed(principal: Principal, query: WorkflowRunQuery) -> WorkflowRunPage:
    """Return a page of the runs that match the filters, with their scores: one query more than the page's own."""
    chosen = WorkflowRunFilter.of(query)
    require_known(principal, chosen, "?")
    matching_runs = chosen.apply(visible(principal))
    rows, page = pagination.page(matching_runs, query, ORDER, owner=principal.organization.pk)
    return WorkflowRunPage(shapes(principal, rows), page)


def read_run(principal: Principal, run_id: UUID) -> WorkflowRunOut:
    """Return one run as this caller sees it; raises NotFound, also for a run that the caller may not see."""
    run = find(visible(principal), run_id, "workflow run")
    return structs.replace(shapes(principal, [run])[0], failed_attempts=attempts.of_run(principal, run))


def shapes(principal: Principal, rows: Sequence[WorkflowRun]) -> list[WorkflowRunOut]:
    """Return the runs as this caller sees them."""
    visible_scores = Score.objects.live().visible_to(principal).defer("details")
    scores = list(visible_scores.filter(run_id__in=[run.pk for run in rows]))
    sight = ViewerSight.of(principal)
    sight.judges.meet(run.grader_id for run in rows if run.status == RunStatus.FAILED)
    results = {score.run_id: out for score, out in zip(scores, score_results.shapes(scores, sight), strict=True)}
    waits = waiting_reasons.of_runs(rows)
    return [run_out(run, results.get(run.pk), sight, waits.get(run.pk)) for run in rows]


def visible(principal: Principal) -> WorkflowRunQuerySet:
    """Return the runs that the principal may read."""
    return WorkflowRun.objects.visible_to(principal)


def require_known(principal: Principal, chosen: WorkflowRunFilter, prefix: str) -> None:
    """Check that the caller can see what the filters name; raises NotFound with a pointer.

    raises  Invalid for an `attemptCode` without a `graderId`
    prefix  of the pointer: `?` for parameters, `/` for members of a body
    Callers who see only the runs of their own graders may also filter by what those runs refer to, such as a task of
    another organization.
    """
    if chosen.attempt_code is not None and chosen.grader is None:
        raise Invalid.field(f"{prefix}attemptCode", "missing_field", "Choose a grader (graderId) too.")
    references: tuple[tuple[str, str, str, UUID | None, ScopedQuerySet], ...] = (
        ("completionId", "completion", "completion_id", chosen.completion, Completion.objects.all()),
        ("graderId", "grader", "grader_id", chosen.grader, Grader.objects.all()),
        ("taskId", "task", "task_id", chosen.task, Task.objects.all()),
    )
    for wire, what, lookup, pk, queryset in references:
        if pk is None or queryset.visible_to(principal).filter(pk=pk).exists():
            continue
        if not visible(principal).filter(**{lookup: pk}).exists():
            raise NotFound.field(f"{prefix}{wire}", what)
