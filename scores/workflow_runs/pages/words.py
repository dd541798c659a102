"""The words that pages use for the states and steps of a run."""

from typing import Final

from scores.engine import waits
from scores.models import WorkflowRun
from scores.results import failure_codes
from scores.states import RunStatus, WaitKind
from scores.workflow_runs import steps

STEPS: Final = {
    "queue": "In the queue",
    "call": "Call to the grader",
    "hold": "Held: its grader may not be called",
    "wait": "Accepted by the grader, which answers later",
    "callback": "Callback of the grader",
    "model": "Answer of a model",
    "review": "Sent to a reviewer",
    "decision": "Decided by a reviewer",
    "cancel": "Cancelled",
    "retry": "Retried on request",
    "lease": "Its worker was lost",
    "end": "Ended",
    steps.REUSE: "Waited for the score of an equal answer of another model",
}
HOLDS: Final = {
    "rate_limited": "rate limit",
    "circuit_open": "circuit open after failed calls",
    "unhealthy": "the grader reports that it is unhealthy",
}
RESTS: Final = {
    steps.HOLD: "its grader is paused",
    steps.BACKOFF: "an attempt failed; it tries again",
    steps.NOT_BEFORE: "it is scheduled for later",
}
WAITS: Final = {
    **{name.value: rule.ended_by for name, rule in waits.WAITS.items()},
    WaitKind.GRADER.value: "its grader, which is paused",
}
FAULTS: Final = {"grader": "the grader", "caller": "the submitter", "platform": "the platform"}


def step(name: str) -> str:
    """Return the words for a step."""
    return STEPS.get(name, name.replace("_", " ").capitalize())


def is_rejected(run: WorkflowRun) -> bool:
    """Whether a reviewer rejected the run's score, which is a decision and not a failure."""
    return run.status == RunStatus.FAILED and run.error_code == failure_codes.REVIEW_REJECTED


def state(run: WorkflowRun) -> str:
    """Return the name of a run's state for its badge."""
    return "rejected" if is_rejected(run) else run.status


def pause(reason: str) -> str:
    """Return the words for the reason why a grader is paused."""
    return HOLDS.get(reason, reason.replace("_", " "))


def outcome(text: str | None) -> str:
    """Return the words for the outcome of a step."""
    return HOLDS.get(text or "", (text or "").replace("_", " "))


def reason(run: WorkflowRun) -> str:
    """Return why an unfinished run does not continue by itself now; '' if nothing holds it."""
    match run.status:
        case RunStatus.SLEEPING:
            rest = RESTS.get(steps.current(run) or "", "")
            why = run.error_code if steps.current(run) == steps.BACKOFF else _pause(run)
            return f"{rest} ({outcome(why)})" if why else rest
        case RunStatus.WAITING:
            return f"for {WAITS.get(run.waits_for, WAITS[WaitKind.CALLBACK.value])}"
    return ""


def tone(outcome: str | None) -> str:
    """Return the color class of a step by its outcome."""
    if outcome in {"scored", "approved", "adjusted", "claimed", "copied"}:
        return "good"
    if outcome in failure_codes.CODES or outcome == "worker_lost":
        return "bad"
    return "warn" if outcome in {*HOLDS, "accepted", "requested"} else ""


def _pause(run: WorkflowRun) -> str:
    last = run.steps[-1] if run.steps else {}
    return str(last.get("o", "")) if last.get("s") == steps.HOLD else ""
