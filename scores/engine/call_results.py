"""The results of calls to a grader: verdicts, failures, and runs that are postponed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from graders.verdicts import Verdict
from scores.engine.claims import ClaimedRun
from scores.engine.retries import RetryDecision
from scores.engine.statements import PauseToStore
from scores.engine.timeline import entry
from scores.states import WaitKind


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A verdict on a run, with the task version that its reward follows and the grader version at the time of the call.

    step  entry for the timeline; None if the verdict is the direct answer to the call
    """

    run: ClaimedRun
    verdict: Verdict
    version_id: UUID
    grader_version_id: UUID
    latency_ms: float
    step: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt on a run, and what follows from it. `called` is false if no call was sent.

    evidence  what is known about the call (scores/engine/evidence.py)
    """

    run: ClaimedRun
    decision: RetryDecision
    called: bool = True
    step: dict[str, Any] | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PostponedRun:
    """A run that waits until `until`: its grader is paused for `reason`, or its answer comes later."""

    run: ClaimedRun
    waits_for: WaitKind
    until: datetime
    reason: str
    started: datetime | None = None

    def paused(self, step: str) -> PauseToStore:
        about = entry(step, self.run.attempt, self.reason, started=self.started, wake_at=self.until)
        return PauseToStore(self.run.run_id, self.run.attempt, self.waits_for, self.until, about)


@dataclass(slots=True)
class CallResults:
    """A group of results that is saved in one transaction."""

    judged: list[JudgedRun] = field(default_factory=list)
    missed: list[FailedAttempt] = field(default_factory=list)
    accepted: list[PostponedRun] = field(default_factory=list)
    resting: list[PostponedRun] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.judged) + len(self.missed) + len(self.accepted) + len(self.resting)

    @property
    def mixed(self) -> bool:
        """Whether the group holds results of more than one kind."""
        return sum(map(bool, (self.judged, self.missed, self.accepted, self.resting))) > 1 or len(self.missed) > 1

    def by_version(self, present: UUID) -> Iterator[tuple[UUID, "CallResults"]]:
        """Split the group by grader version. Results without a verdict belong to the first part."""
        versions = sorted({judged.grader_version_id for judged in self.judged}) or [present]
        if len(versions) == 1:
            yield versions[0], self
            return
        for place, version_id in enumerate(versions):
            part = CallResults() if place else CallResults([], self.missed, self.accepted, self.resting)
            part.judged = [judged for judged in self.judged if judged.grader_version_id == version_id]
            yield version_id, part

    def runs(self) -> Iterator[ClaimedRun]:
        for kind in (self.judged, self.missed, self.accepted, self.resting):
            yield from (outcome.run for outcome in kind)
