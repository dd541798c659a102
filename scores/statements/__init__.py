"""The guarded statements of saving, in two bodies: PostgreSQL (one statement a step) and the embedded SQLite."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Protocol
from uuid import UUID

from graders.gateway.types import Verdict
from scores.claims import Claimed


@dataclass(frozen=True, slots=True)
class Success:
    """A verdict to store. `reward` is the reward's value where the run is the sole one of its completion, else None."""

    run: Claimed
    verdict: Verdict
    aggregation: str
    reward: float | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure to store. `attempt` None: whatever attempt the run is at (only for runs that nobody holds)."""

    run_id: UUID
    attempt: int | None
    code: str
    message: str
    repeats: int
    wake_at: datetime | None = None


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
        """Complete the runs that have no verdict yet, insert their scores and sole rewards; the moved ids."""

    def fail(self, failures: Sequence[Failed]) -> list[Saved]:
        """Move the runs that the attempt still holds to `failed`; the moved ones."""

    def sleep(self, failures: Sequence[Failed]) -> None:
        """Move the runs that the attempt still holds to `sleeping`."""


def statements(vendor: str) -> Statements:
    """The body for a database vendor."""
    name = "postgres" if vendor == "postgresql" else "embedded"
    return import_module(f"scores.statements.{name}")
