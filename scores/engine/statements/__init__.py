"""The conditional statements that save results, in two versions: for PostgreSQL (one per step) and for SQLite."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol
from uuid import UUID

from graders.verdicts import Verdict
from scores.engine.claims import ClaimedRun
from scores.states import RunPurpose, WaitKind


@dataclass(frozen=True, slots=True)
class VerdictToStore:
    """A verdict to store. `reward` is the reward's value if the run is the only one of its completion, else None.

    step  entry for the timeline; None if the grader answered the call directly
    """

    run: ClaimedRun
    verdict: Verdict
    aggregation: str
    reward: float | None
    step: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FailureToStore:
    """A failure to store. `attempt` None: the failure applies to any attempt (for runs that end without an answer).

    of_review  the failure also ends a run that waits for a reviewer
    """

    run_id: UUID
    organization_id: UUID
    attempt: int | None
    code: str
    message: str
    repeats: int
    wake_at: datetime | None = None
    step: dict[str, Any] | None = None
    of_review: bool = False


@dataclass(frozen=True, slots=True)
class PauseToStore:
    """A run that sleeps or waits until `until`. This is not a failure of the run."""

    run_id: UUID
    attempt: int
    waits_for: WaitKind
    until: datetime
    step: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run that a statement moved."""

    run_id: UUID
    completion_id: UUID
    task_id: UUID
    organization_id: UUID
    purpose: str
    error_code: str = ""

    @property
    def counts(self) -> bool:
        """Whether the reward of its completion depends on it."""
        return self.purpose == RunPurpose.SCORE


class Statements(Protocol):
    """The statements that both databases provide. Each runs inside the caller's transaction."""

    def complete(self, grader_id: UUID, grader_version_id: UUID, successes: Sequence[VerdictToStore]) -> set[UUID]:
        """Complete the runs that have no verdict yet, with their scores, sole rewards and events. Return their ids."""

    def fail(self, failures: Sequence[FailureToStore]) -> list[SavedRun]:
        """Fail the runs that the attempt still holds, or that await its answer. Return those that failed."""

    def sleep(self, failures: Sequence[FailureToStore]) -> list[UUID]:
        """Move the runs that the attempt still holds, or that await its answer, to `sleeping`. Return their ids."""

    def rest(self, paused: Sequence[PauseToStore]) -> None:
        """Move the runs that the attempt still holds to `sleeping` without a failure, since their grader is held."""

    def wait(self, paused: Sequence[PauseToStore]) -> None:
        """Move the runs that the attempt still holds to `waiting`, for an answer that comes later."""


def statements(vendor: str) -> Statements:
    """Return the statements for a database vendor."""
    name = "postgres" if vendor == "postgresql" else "embedded"
    return import_module(f"scores.engine.statements.{name}")
