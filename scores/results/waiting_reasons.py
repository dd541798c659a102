"""The reason why a run or a completion has no score yet, and its end, as the API, the SDK and the pages report it.

Every reader of a run may read the reason. Of a grader it shows only the kind and the end of its pause, neither its
answers nor its limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from autotune.core import clock
from graders import pauses
from graders.models import Grader
from graders.states import GraderStatus
from scores.engine import waits
from scores.models import WorkflowRun
from scores.results.waiting_responses import WaitingForOut
from scores.states import FINAL, RunPurpose, RunStatus, WaitingReason, WaitKind
from scores.workflow_runs import steps

DETAILS: Final[Mapping[WaitingReason, str]] = {
    WaitingReason.QUEUED: "The run is in its grader's queue and will be called in turn.",
    WaitingReason.CALLING: "The grader is being called.",
    WaitingReason.PAUSED: "The grader may not be called yet: it reports that it is unhealthy, or does not answer.",
    WaitingReason.CIRCUIT_OPEN: "The grader may not be called yet: its circuit is open after failed calls.",
    WaitingReason.RATE_LIMITED: "The grader may not be called yet: its rate limit is reached.",
    WaitingReason.GRADER_INACTIVE: "The grader is inactive. The run fails at the deadline unless it is active by then.",
    WaitingReason.RETRY: "An attempt failed. The next one follows.",
    WaitingReason.NOT_BEFORE: "The completion was submitted with a time before which no grader is called.",
    **{rule.reason: rule.detail for rule in waits.WAITS.values()},
}
_PAUSES: Final[Mapping[str, WaitingReason]] = {
    pauses.RATE_LIMITED: WaitingReason.RATE_LIMITED,
    pauses.CIRCUIT_OPEN: WaitingReason.CIRCUIT_OPEN,
    pauses.UNHEALTHY: WaitingReason.PAUSED,
}
_WAITS: Final[Mapping[str, WaitingReason]] = {name: rule.reason for name, rule in waits.WAITS.items()}
# For a panel, the run that is farthest from its score gives the completion's reason.
_ORDER: Final = tuple(reversed(WaitingReason))


@dataclass(frozen=True, slots=True)
class WaitExplanation:
    """The reason why an unfinished run has no score. `until`: when the reason ends by itself, if that is known."""

    reason: WaitingReason
    until: datetime | None = None

    @property
    def detail(self) -> str:
        return DETAILS[self.reason]

    def out(self) -> WaitingForOut:
        return WaitingForOut(self.reason, None if self.until is None else clock.wire(self.until), self.detail)


@dataclass(frozen=True, slots=True)
class _GraderState:
    """Whether Autotune may call a grader, from its row."""

    paused_until: datetime | None
    pause: str
    inactive: bool


def of_runs(runs: Sequence[WorkflowRun]) -> dict[UUID, WaitExplanation]:
    """The wait of each unfinished run, by run id; one query for their graders, none if all runs are final."""
    unfinished = [run for run in runs if run.status not in FINAL]
    if not unfinished:
        return {}
    now = clock.shared_now()
    columns = ("pk", "held_until", "held_reason", "status", "deleted_at")
    rows = Grader.objects.filter(pk__in={run.grader_id for run in unfinished}).values_list(*columns)
    graders = {
        pk: _GraderState(
            until if until and until > now else None, pause, bool(deleted_at) or status == GraderStatus.INACTIVE
        )
        for pk, until, pause, status, deleted_at in rows
    }
    return {run.pk: _wait(run, graders[run.grader_id]) for run in unfinished}


def of_completions(completion_ids: Iterable[UUID]) -> dict[UUID, WaitExplanation]:
    """The wait of each completion that has an unfinished scoring run, by completion id; in two queries."""
    runs = WorkflowRun.objects.filter(completion_id__in=list(completion_ids), purpose=RunPurpose.SCORE)
    rows = list(runs.only("completion_id", "grader_id", "status", "attempt", "wake_at", "deadline_at", "waits_for",
                          "steps"))  # fmt: skip
    run_waits = of_runs(rows)
    by_completion: dict[UUID, list[WaitExplanation]] = {}
    for run in rows:
        if wait := run_waits.get(run.pk):
            by_completion.setdefault(run.completion_id, []).append(wait)
    return {key: longest(group) for key, group in by_completion.items()}


def longest(candidates: Sequence[WaitExplanation]) -> WaitExplanation:
    """The wait that is expected to end last."""
    return min(candidates, key=lambda wait: (_ORDER.index(wait.reason), -wait.until.timestamp() if wait.until else 0.0))


def _wait(run: WorkflowRun, grader: _GraderState) -> WaitExplanation:
    match run.status:
        case RunStatus.RUNNING:
            return WaitExplanation(WaitingReason.CALLING)
        case RunStatus.WAITING:
            return WaitExplanation(_WAITS.get(run.waits_for, WaitingReason.CALLBACK), run.wake_at)
        case RunStatus.SLEEPING if run.waits_for != WaitKind.GRADER:
            return _rest(run, grader)
    if grader.inactive:
        return WaitExplanation(WaitingReason.GRADER_INACTIVE, run.deadline_at)
    if grader.paused_until:
        return WaitExplanation(_pause(grader.pause), grader.paused_until)
    if run.status == RunStatus.SLEEPING:  # the pause of its grader is over, or ends when the run wakes
        return WaitExplanation(_pause(str(run.steps[-1]["o"]) if run.steps else ""), run.wake_at)
    return WaitExplanation(WaitingReason.QUEUED)


def _rest(run: WorkflowRun, grader: _GraderState) -> WaitExplanation:
    """The wait of a run that sleeps for its own reason, or its grader's pause if that lasts longer."""
    if grader.paused_until and run.wake_at and grader.paused_until > run.wake_at:
        return WaitExplanation(_pause(grader.pause), grader.paused_until)
    starts_later = steps.current(run) == steps.NOT_BEFORE
    return WaitExplanation(WaitingReason.NOT_BEFORE if starts_later else WaitingReason.RETRY, run.wake_at)


def _pause(reason: str) -> WaitingReason:
    return _PAUSES.get(reason, WaitingReason.PAUSED)
