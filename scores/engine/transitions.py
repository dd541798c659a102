"""The allowed transitions of a workflow run: a table, a function for one row, and an SQL condition for many rows.

Both check the current status in the WHERE clause. If two processes move a run at once, one succeeds and the other
learns that the run has moved.
"""

from collections.abc import Mapping
from typing import Any

from autotune.core.crypto.fields import refresh
from scores.models import WorkflowRun
from scores.states import RunStatus

MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    # a late answer of an expired lease still counts, hence COMPLETED from PENDING and SLEEPING
    # due runs sleep while their grader is held, so that they occupy no worker
    RunStatus.PENDING: frozenset(
        {RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.COMPLETED, RunStatus.WAITING, RunStatus.FAILED}
    ),
    RunStatus.RUNNING: frozenset(
        {RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.WAITING, RunStatus.COMPLETED, RunStatus.FAILED}
    ),
    RunStatus.SLEEPING: frozenset({RunStatus.PENDING, RunStatus.COMPLETED, RunStatus.WAITING, RunStatus.FAILED}),
    # how each wait ends is in the table of waits (waits.py)
    RunStatus.WAITING: frozenset({RunStatus.PENDING, RunStatus.SLEEPING, RunStatus.COMPLETED, RunStatus.FAILED}),
    RunStatus.FAILED: frozenset({RunStatus.PENDING}),
    RunStatus.COMPLETED: frozenset(),
}


class InvalidTransition(Exception):
    """The run cannot move to the new status: another process moved it first, or the transition does not exist."""


def sources(to: RunStatus) -> tuple[str, ...]:
    """The statuses from which a run may move to `to`, in a fixed order."""
    return tuple(status.value for status, targets in MOVES.items() if to in targets)


def advance(run: WorkflowRun, to: RunStatus, **changes: Any) -> None:
    """Move one run to `to` with `changes`.

    raises InvalidTransition if another process moved it first
    """
    moved = WorkflowRun.objects.filter(pk=run.pk, status__in=sources(to)).update(status=to, **changes)
    if not moved:
        raise InvalidTransition(f"run {run.public_id} cannot become {to}")
    refresh(run)


def condition(to: RunStatus, *, unless: frozenset[RunStatus] = frozenset(), alias: str = "r") -> str:
    """The SQL condition for runs that may move to `to`, such as `r.status in ('pending', 'running')`.

    unless  statuses that this move leaves unchanged
    """
    statuses = ", ".join(f"'{status}'" for status in sources(to) if status not in unless)
    return f"{alias}.status in ({statuses})"
