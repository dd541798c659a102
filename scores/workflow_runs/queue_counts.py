"""Count runs by state and by grader, and failed runs by code. The queries are fast for many runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Max, Min

from scores.querysets import WorkflowRunQuerySet
from scores.states import FINAL, RunStatus
from scores.workflow_runs.runs import WorkflowRunFilter

COUNTED: Final = 10_000  # beyond it a count is `10,000+`
UNFINISHED: Final = tuple(status for status in RunStatus if status not in FINAL)


@dataclass(frozen=True, slots=True)
class CappedCount:
    """A count. `more`: there are more than were counted."""

    number: int
    more: bool = False

    def __str__(self) -> str:
        return f"{self.number:,}{'+' if self.more else ''}"

    def __bool__(self) -> bool:
        return bool(self.number)


@dataclass(slots=True)
class GraderQueue:
    """The unfinished runs of one grader. `oldest`: when the oldest of them was created."""

    grader_id: UUID
    numbers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UNFINISHED, 0))
    oldest: datetime | None = None

    @property
    def length(self) -> int:
        return sum(self.numbers.values())


@dataclass(slots=True)
class DeadLetters:
    """The dead letters of one code: how many runs failed with it, when the last one did, and by grader."""

    code: str
    number: int = 0
    last: datetime | None = None
    graders: dict[UUID, int] = field(default_factory=dict)


def counted(runs: WorkflowRunQuerySet, most: int = COUNTED) -> CappedCount:
    """Count the runs, up to `most`: the database stops there."""
    number = runs.order_by()[: most + 1].count()
    return CappedCount(min(number, most), number > most)


def whatever_state(runs: WorkflowRunQuerySet, chosen: WorkflowRunFilter) -> WorkflowRunQuerySet:
    """Return the runs that match the filters, in any state; all counts of a page use this one filter."""
    return replace(chosen, status=None).apply(runs)


def by_status(queues: Iterable[GraderQueue], failed: WorkflowRunQuerySet) -> Mapping[str, CappedCount]:
    """Count the runs of each state, from the graders' queues. Completed runs are not counted: most runs are
    completed, and no index separates them."""
    queue_list = list(queues)
    numbers = {str(status): CappedCount(sum(queue.numbers[status] for queue in queue_list)) for status in UNFINISHED}
    return {**numbers, RunStatus.FAILED.value: counted(failed)}


def by_grader(others: WorkflowRunQuerySet) -> list[GraderQueue]:
    """Return the queues of the graders that have work, the longest first."""
    unfinished = others.filter(status__in=UNFINISHED).order_by()
    rows = unfinished.values_list("grader_id", "status").annotate(number=Count("pk"), oldest=Min("created_at"))
    queues: dict[UUID, GraderQueue] = {}
    for grader_id, status, number, oldest in rows:
        queue = queues.setdefault(grader_id, GraderQueue(grader_id))
        queue.numbers[status] = number
        queue.oldest = oldest if queue.oldest is None else min(queue.oldest, oldest)
    return sorted(queues.values(), key=lambda queue: -queue.length)


def dead_letters(runs: WorkflowRunQuerySet, chosen: WorkflowRunFilter) -> list[DeadLetters]:
    """Return the failed runs by code, the most frequent code first."""
    failed = replace(chosen, status=RunStatus.FAILED).apply(runs).order_by()
    rows = failed.values_list("error_code", "grader_id").annotate(number=Count("pk"), last=Max("completed_at"))
    groups: dict[str, DeadLetters] = {}
    for code, grader_id, number, last in rows:
        group = groups.setdefault(code, DeadLetters(code))
        group.number += number
        group.graders[grader_id] = number
        group.last = _later(group.last, last)
    return sorted(groups.values(), key=lambda group: -group.number)


def graders_of(groups: Iterable[GraderQueue | DeadLetters]) -> set[UUID]:
    """Return every grader of the groups."""
    return {
        grader
        for group in groups
        for grader in (group.graders if isinstance(group, DeadLetters) else [group.grader_id])
    }


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    return max((moment for moment in (first, second) if moment is not None), default=None)
