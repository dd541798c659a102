"""Why a run or a completion has no score yet, and until when: what the API, the SDK and the pages say of pending work.

Whoever may read the run reads the reason. It names the kind of a grader's pause and its end, and nothing else of a
grader: neither what it answered nor its limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from autotune.core import clock
from graders import holds
from graders.models import Grader
from graders.states import GraderStatus
from scores import steps
from scores.models import WorkflowRun
from scores.states import FINAL, RunStatus, WaitingReason, WaitsFor
from scores.waiting_shapes import WaitingForOut

DETAILS: Final[Mapping[WaitingReason, str]] = {
    WaitingReason.QUEUED: "The run is in its grader's queue and will be called in turn.",
    WaitingReason.CALLING: "The grader is being called.",
    WaitingReason.PAUSED: "The grader may not be called yet: it reports that it is unhealthy, or does not answer.",
    WaitingReason.CIRCUIT_OPEN: "The grader may not be called yet: its circuit is open after failed calls.",
    WaitingReason.RATE_LIMITED: "The grader may not be called yet: its rate limit is reached.",
    WaitingReason.GRADER_INACTIVE: "The grader is inactive. The run fails at the deadline unless it is active by then.",
    WaitingReason.RETRY: "An attempt failed. The next one follows.",
    WaitingReason.NOT_BEFORE: "The completion was submitted with a time before which no grader is called.",
    WaitingReason.REUSE: "An equal answer of another model is being judged. This one gets a copy of its score.",
    WaitingReason.CALLBACK: "The grader accepted the completion and answers later. The run fails if no answer comes.",
    WaitingReason.REVIEW: "A reviewer must decide on the grader's score. The run fails if nobody does.",
}
_PAUSES: Final[Mapping[str, WaitingReason]] = {
    holds.RATE_LIMITED: WaitingReason.RATE_LIMITED,
    holds.CIRCUIT_OPEN: WaitingReason.CIRCUIT_OPEN,
    holds.UNHEALTHY: WaitingReason.PAUSED,
}
_WAITS: Final[Mapping[str, WaitingReason]] = {
    WaitsFor.REUSE: WaitingReason.REUSE,
    WaitsFor.CALLBACK: WaitingReason.CALLBACK,
    WaitsFor.REVIEW: WaitingReason.REVIEW,
}
# Of a panel the run that is farthest from its score speaks for the completion.
_ORDER: Final = tuple(reversed(WaitingReason))


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an unfinished run does not have its score. `until`: when that ends by itself, as far as it is known."""

    reason: WaitingReason
    until: datetime | None = None

    @property
    def detail(self) -> str:
        return DETAILS[self.reason]

    def out(self) -> WaitingForOut:
        return WaitingForOut(self.reason, None if self.until is None else clock.wire(self.until), self.detail)


@dataclass(frozen=True, slots=True)
class _Callable:
    """Whether a grader may be called, as far as its row says."""

    paused_until: datetime | None
    pause: str
    inactive: bool


def of_runs(runs: Sequence[WorkflowRun]) -> dict[UUID, Wait]:
    """By run, the wait of each unfinished one; one query for their graders, none where all are final."""
    unfinished = [run for run in runs if run.status not in FINAL]
    if not unfinished:
        return {}
    now = clock.shared_now()
    columns = ("pk", "held_until", "held_reason", "status", "deleted_at")
    rows = Grader.objects.filter(pk__in={run.grader_id for run in unfinished}).values_list(*columns)
    graders = {
        pk: _Callable(until if until and until > now else None, why, bool(deleted) or status == GraderStatus.INACTIVE)
        for pk, until, why, status, deleted in rows
    }
    return {run.pk: _wait(run, graders[run.grader_id]) for run in unfinished}


def of_completions(completion_ids: Iterable[UUID]) -> dict[UUID, Wait]:
    """By completion, what those wait for that have an unfinished scoring run; in two queries."""
    runs = WorkflowRun.objects.filter(completion_id__in=list(completion_ids), panel_size__gt=0)
    rows = list(runs.only("completion_id", "grader_id", "status", "attempt", "wake_at", "deadline_at", "waits_for",
                          "steps"))  # fmt: skip
    waits = of_runs(rows)
    by_completion: dict[UUID, list[Wait]] = {}
    for run in rows:
        if wait := waits.get(run.pk):
            by_completion.setdefault(run.completion_id, []).append(wait)
    return {key: longest(several) for key, several in by_completion.items()}


def longest(waits: Sequence[Wait]) -> Wait:
    """Of several waits the one that is expected to end last."""
    return min(waits, key=lambda wait: (_ORDER.index(wait.reason), -wait.until.timestamp() if wait.until else 0.0))


def _wait(run: WorkflowRun, grader: _Callable) -> Wait:
    match run.status:
        case RunStatus.RUNNING:
            return Wait(WaitingReason.CALLING)
        case RunStatus.WAITING:
            return Wait(_WAITS.get(run.waits_for, WaitingReason.CALLBACK), run.wake_at)
        case RunStatus.SLEEPING if run.waits_for != WaitsFor.GRADER:
            return _rest(run, grader)
    if grader.inactive:
        return Wait(WaitingReason.GRADER_INACTIVE, run.deadline_at)
    if grader.paused_until:
        return Wait(_pause(grader.pause), grader.paused_until)
    if run.status == RunStatus.SLEEPING:  # its grader's pause has ended by now, or ends with its own sleep
        return Wait(_pause(str(run.steps[-1]["o"]) if run.steps else ""), run.wake_at)
    return Wait(WaitingReason.QUEUED)


def _rest(run: WorkflowRun, grader: _Callable) -> Wait:
    """A run that sleeps for itself; a pause of its grader that lasts longer is what it waits for."""
    if grader.paused_until and run.wake_at and grader.paused_until > run.wake_at:
        return Wait(_pause(grader.pause), grader.paused_until)
    is_later = steps.current(run) == steps.NOT_BEFORE
    return Wait(WaitingReason.NOT_BEFORE if is_later else WaitingReason.RETRY, run.wake_at)


def _pause(reason: str) -> WaitingReason:
    return _PAUSES.get(reason, WaitingReason.PAUSED)
