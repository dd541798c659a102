"""How far the completions of tasks have come: counts that a list of tasks and a task's own page can afford."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Avg, Count

from autotune.access import policy
from autotune.access.principal import Principal
from scores.models import Reward, Score, WorkflowRun
from scores.states import RunStatus
from tasks.models import Completion, Task

WHOLE: Final = frozenset({"organization", "all"})
OPEN: Final = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.WAITING)


@dataclass(frozen=True, slots=True)
class Counts:
    """Completions of a task: all of them, those with a reward, those that ended without; the mean of the rewards.

    None is what the reader's role does not tell.
    """

    completions: int | None = 0
    scored: int | None = 0
    failed: int | None = 0
    mean: float | None = None

    @property
    def open(self) -> int | None:
        """Those that have not ended. What was counted a moment later may have ended: never below none."""
        if self.completions is None or self.scored is None or self.failed is None:
            return None
        return max(0, self.completions - self.scored - self.failed)

    @property
    def ended_share(self) -> float | None:
        if not self.completions or self.open is None:
            return None
        return 1 - self.open / self.completions


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of a task: {state: how many} in the order of a run's life, and the failed ones by code, the most first."""

    states: dict[str, int]
    codes: list[tuple[str, int]]


def sees(principal: Principal, resource: str) -> bool:
    """Whether the principal reads all of the resource in a task that it reads, and not only what is its own."""
    return policy.reach(principal, resource, "read") in WHOLE


def of_tasks(principal: Principal, tasks: Iterable[UUID]) -> Mapping[UUID, Counts]:
    """The counts of each of the tasks, in two queries. The mean is that of all rewards."""
    wanted = list(tasks)
    submitted: dict[UUID, int] = {}
    ended: dict[UUID, tuple[int, int, float | None]] = {}
    if sees(principal, "completions"):
        rows = Completion.objects.filter(task_id__in=wanted).order_by().values("task_id").annotate(n=Count("pk"))
        submitted = dict(rows.values_list("task_id", "n"))
    if sees(principal, "scores"):
        rewards = Reward.objects.filter(task_id__in=wanted).order_by().values("task_id")
        figures = rewards.annotate(n=Count("pk"), scored=Count("value"), mean=Avg("value"))
        ended = {task: tuple(rest) for task, *rest in figures.values_list("task_id", "n", "scored", "mean")}
    return {task: _counts(principal, submitted.get(task, 0), ended.get(task, (0, 0, None))) for task in wanted}


def _counts(principal: Principal, submitted: int, ended: tuple[int, int, float | None]) -> Counts:
    total, scored, mean = ended
    completions = submitted if sees(principal, "completions") else None
    if not sees(principal, "scores"):
        return Counts(completions, None, None, None)
    return Counts(completions, scored, total - scored, mean)


def runs(principal: Principal, task: Task) -> Runs | None:
    """The runs of a task that the principal may read, in three queries that indexes answer; None if it reads no runs.

    Runs have no index by task: those that have not ended and those that failed are few and have indexes of their own,
    and a completed run is known by its score.
    """
    if policy.reach(principal, "runs", "read") is None:
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
    if sees(principal, "runs"):
        states[str(RunStatus.COMPLETED)] = Score.objects.filter(task=task).count()
    else:
        states[str(RunStatus.COMPLETED)] = visible.filter(status=RunStatus.COMPLETED).count()
    states[str(RunStatus.FAILED)] = sum(n for _, n in codes)
    return Runs(states, codes)
