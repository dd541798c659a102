"""Count the progress of tasks' completions, fast enough for a list of tasks and a task's own page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Count

from autotune.access import policy
from autotune.access.principal import Principal
from scores.counters import progress
from scores.counters.progress import TaskProgress
from scores.models import WorkflowRun
from scores.states import RunStatus
from tasks.models import Task

OPEN: Final = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.WAITING)


@dataclass(frozen=True, slots=True)
class TaskCompletionCounts:
    """Completions of a task: all of them, those with a reward, those that ended without; the mean of the rewards.

    None for a count that the reader's role may not see.
    """

    completions: int | None = 0
    scored: int | None = 0
    failed: int | None = 0
    mean: float | None = None

    @property
    def open(self) -> int | None:
        """The completions that have not ended; at least 0, since the counts are not of the same moment."""
        if self.completions is None or self.scored is None or self.failed is None:
            return None
        return max(0, self.completions - self.scored - self.failed)

    @property
    def ended_share(self) -> float | None:
        if not self.completions or self.open is None:
            return None
        return 1 - self.open / self.completions


@dataclass(frozen=True, slots=True)
class TaskRunCounts:
    """Runs of a task: {state: how many} in the order of a run's life, and the failed ones by code, the most first."""

    states: dict[str, int]
    codes: list[tuple[str, int]]


def sees(principal: Principal, resource: str, owner: UUID | None = None) -> bool:
    """Whether the principal reads all of the resource in a task, and not only what is its own.

    owner  the task's organization; without it the answer is for every task that the principal reads
    """
    reach = policy.reach(principal, resource, "read")
    if reach != "organization":
        return reach == "all"
    return policy.reach(principal, "tasks", "read") != "all" if owner is None else owner == principal.organization.pk


def of_tasks(principal: Principal, tasks: Iterable[UUID]) -> Mapping[UUID, TaskCompletionCounts]:
    """Return the counts of each task, from counters. The mean is that of all rewards."""
    task_ids = list(tasks)
    progress_of = progress.of_tasks(task_ids)
    with_completions = set(_readable_tasks(principal, "completions", task_ids))
    with_scores = set(_readable_tasks(principal, "scores", task_ids))
    return {task: _counts(progress_of[task], task in with_completions, task in with_scores) for task in task_ids}


def _readable_tasks(principal: Principal, resource: str, tasks: list[UUID]) -> list[UUID]:
    """Those of the tasks in which the principal reads all of the resource."""
    if sees(principal, resource):
        return tasks
    if not sees(principal, resource, principal.organization.pk):
        return []
    own = Task.objects.filter(pk__in=tasks, organization_id=principal.organization.pk)
    return list(own.order_by().values_list("pk", flat=True))


def _counts(task_progress: TaskProgress, shows_completions: bool, shows_scores: bool) -> TaskCompletionCounts:
    completions = task_progress.completions if shows_completions else None
    if not shows_scores:
        return TaskCompletionCounts(completions, None, None, None)
    return TaskCompletionCounts(completions, task_progress.rewarded, task_progress.unrewarded, task_progress.mean)


def runs(principal: Principal, task: Task) -> TaskRunCounts | None:
    """Count the runs of a task that the principal may read, from indexes and counters; None if it may read none.

    Runs have no index by task: those that have not ended and those that failed are few and have indexes of their own,
    and a completed run is known by its score.
    """
    if policy.reach(principal, "workflow_runs", "read") is None:
        return None
    visible = WorkflowRun.objects.visible_to(principal).filter(task=task, organization_id=task.organization_id)
    parts: list[Any] = [
        visible.filter(status=status).order_by().values("status").annotate(n=Count("pk")).values_list("status", "n")
        for status in OPEN
    ]
    states = dict.fromkeys(map(str, OPEN), 0)
    states |= {str(status): n for status, n in parts[0].union(*parts[1:], all=True)}
    failed = visible.filter(status=RunStatus.FAILED).order_by().values("error_code").annotate(n=Count("pk"))
    codes = sorted(failed.values_list("error_code", "n"), key=lambda row: (-row[1], row[0]))
    if sees(principal, "workflow_runs", task.organization_id):
        states[str(RunStatus.COMPLETED)] = progress.scores_ever(task.pk)
    else:
        states[str(RunStatus.COMPLETED)] = visible.filter(status=RunStatus.COMPLETED).count()
    states[str(RunStatus.FAILED)] = sum(n for _, n in codes)
    return TaskRunCounts(states, codes)
