"""The guarded statements of saving, in two bodies: PostgreSQL (one statement a step) and the embedded SQLite."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol
from uuid import UUID

from graders.gateway.types import Verdict
from scores.engine.claims import Claimed


@dataclass(frozen=True, slots=True)
class Success:
    """A verdict to store. `reward` is the reward's value where the run is the sole one of its completion, else None.

    step  the timeline's entry, where the run was not just called and answered
    """

    run: Claimed
    verdict: Verdict
    aggregation: str
    reward: float | None
    step: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure to store. `attempt` None: whatever attempt the run is at (for runs that end without an answer).

    of_review  also one that waits for a person
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
class Paused:
    """A run that an attempt leaves until `until`: it sleeps, or waits for a callback. No failure of the run."""

    run_id: UUID
    attempt: int
    until: datetime
    step: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A run that a statement moved."""

    run_id: UUID
    completion_id: UUID
    task_id: UUID
    organization_id: UUID
    panel_size: int
    error_code: str = ""


class Statements(Protocol):
    """What both engines offer; each runs inside the caller's transaction."""

    def complete(self, grader_id: UUID, grader_version_id: UUID, successes: Sequence[Success]) -> set[UUID]:
        """Complete the runs that have no verdict yet, insert their scores, sole rewards and events; the moved ids."""

    def fail(self, failures: Sequence[Failed]) -> list[Saved]:
        """Move the runs that the attempt still holds, or whose callback it awaits, to `failed`; the moved ones."""

    def sleep(self, failures: Sequence[Failed]) -> None:
        """Move the runs that the attempt still holds to `sleeping`."""

    def rest(self, paused: Sequence[Paused]) -> None:
        """The same without a failure: their grader is held."""

    def wait(self, paused: Sequence[Paused]) -> None:
        """Move the runs that the attempt still holds to `waiting`, for a callback."""


def statements(vendor: str) -> Statements:
    """The body for a database vendor."""
    name = "postgres" if vendor == "postgresql" else "embedded"
    return import_module(f"scores.engine.statements.{name}")
