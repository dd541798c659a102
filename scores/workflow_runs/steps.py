"""Read a run's timeline: its stored steps (scores/engine/timeline.py) and the steps that follow from its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scores.engine import timeline
from scores.models import WorkflowRun
from scores.states import RunStatus, WaitKind

QUEUE, CALL, BACKOFF, HOLD, NOT_BEFORE = "queue", "call", "backoff", "hold", "not_before"
REUSE, MODEL = WaitKind.REUSE.value, WaitKind.MODEL.value
COPIED, NOT_REUSABLE = "copied", "not_reusable"  # how a wait for reuse ends: with a copied score, or with due runs
_ENDS = frozenset({"callback", MODEL, "decision", REUSE})  # stored steps that end a completed run


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a run's timeline. `wake_at`: until when the run slept or waited after it."""

    step: str
    attempt: int
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None
    wake_at: datetime | None = None


def of(run: WorkflowRun) -> list[RunStep]:
    """Return the timeline, oldest first; of very many steps, only the newest are between the first and the last."""
    stored = [_read(entry) for entry in run.steps or ()]
    if run.status == RunStatus.WAITING and run.waits_for == REUSE:
        return [RunStep(REUSE, 0, run.created_at), *stored]
    reuse_wait, later_steps = (stored[:1], stored[1:]) if stored and stored[0].step == REUSE else ([], stored)
    if reuse_wait and reuse_wait[0].outcome == COPIED:
        return stored  # no worker claimed it
    claimed_at, queued_at = run.started_at, reuse_wait[0].ended_at if reuse_wait else run.created_at
    first = RunStep(QUEUE, 0, queued_at, claimed_at or run.completed_at, "claimed" if claimed_at else None)
    return [*reuse_wait, first, *later_steps, *_last(run, later_steps)]


def current(run: WorkflowRun) -> str | None:
    """Return the name of a run's current step; None for a final run."""
    match run.status:
        case RunStatus.PENDING:
            return QUEUE
        case RunStatus.RUNNING:
            return CALL
        case RunStatus.WAITING:
            return run.waits_for or WaitKind.CALLBACK.value
        case RunStatus.SLEEPING:
            return _rest(run)
    return None


def _rest(run: WorkflowRun) -> str:
    """Return why a run sleeps: it begins later, its grader is paused, or an attempt failed."""
    last = run.steps[-1]["s"] if run.steps else None
    if last == HOLD:
        return HOLD
    return BACKOFF if run.attempt else NOT_BEFORE


def _read(entry: dict[str, Any]) -> RunStep:
    return RunStep(
        entry["s"],
        entry["a"],
        timeline.moment(entry.get("f")),
        timeline.moment(entry.get("t")),
        entry["o"],
        timeline.moment(entry.get("w")),
    )


def _last(run: WorkflowRun, stored: Sequence[RunStep]) -> list[RunStep]:
    """Return the call that is in progress or ended the run, if no step is stored for it."""
    last = stored[-1] if stored else None
    started = run.started_at if run.attempt == 1 else None
    match run.status:
        case RunStatus.RUNNING:
            return [RunStep(CALL, run.attempt, started)]
        case RunStatus.COMPLETED if last is None or last.step not in _ENDS:
            return [RunStep(CALL, run.attempt, started, run.completed_at, "scored")]
        case RunStatus.FAILED if last is None or last.outcome != run.error_code:
            return [RunStep(CALL, run.attempt, started, run.completed_at, run.error_code)]
    return []
