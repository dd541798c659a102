"""The allowed transitions of a workflow run: a table, a function for one row, and an SQL condition for many rows.

Both check the current status in the WHERE clause. If two processes move a run at once, one succeeds and the other
learns that the run has moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from autotune.core.crypto.fields import refresh
from scores.models import WorkflowRun
from scores.states import RunStatus, WaitsFor

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
    RunStatus.WAITING: frozenset({RunStatus.PENDING, RunStatus.COMPLETED, RunStatus.FAILED}),
    RunStatus.FAILED: frozenset({RunStatus.PENDING}),
    RunStatus.COMPLETED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class WaitRule:
    """The rule for one kind of wait.

    takes_answer  whether an answer of the grader still completes the run
    expiry        error code of the run when `wake_at` has passed; '' if the wait has no time limit
    """

    takes_answer: bool
    expiry: str


WAITS: Final[Mapping[WaitsFor, WaitRule]] = {
    WaitsFor.CALLBACK: WaitRule(takes_answer=True, expiry="callback_expired"),  # the grader's callback ends it
    WaitsFor.REVIEW: WaitRule(takes_answer=False, expiry="review_expired"),  # a person's decision ends it
    WaitsFor.REUSE: WaitRule(takes_answer=False, expiry=""),  # the end of the completion in `reuses` ends it
}
UNANSWERABLE: Final = tuple(name.value for name, rule in WAITS.items() if not rule.takes_answer)


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


def guard(to: RunStatus, *, unless: frozenset[RunStatus] = frozenset(), alias: str = "r") -> str:
    """The SQL condition for runs that may move to `to`, such as `r.status in ('pending', 'running')`.

    unless  statuses that this move leaves unchanged
    """
    statuses = ", ".join(f"'{status}'" for status in sources(to) if status not in unless)
    return f"{alias}.status in ({statuses})"


def answerable(*, alias: str = "r") -> str:
    """The SQL condition for runs that an answer of their grader can still complete."""
    names = ", ".join(f"'{name}'" for name in UNANSWERABLE)
    return f"{alias}.waits_for not in ({names})"
