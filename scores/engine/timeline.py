"""The timeline of a run: what happened to it, in a compact form beside the row.

A run that is called once and scored keeps nothing: its row tells it all. What else happens (a failed attempt, a sleep,
a wait, a decision, a retry) adds one entry, and of many only the newest are kept.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

HOLD: Final = "hold"  # its grader may not be called for now
MAX_STEPS: Final = 40  # entries of one run; older ones are dropped


def entry(
    step: str,
    attempt: int,
    outcome: str,
    *,
    started: datetime | None = None,
    ended: datetime | None = None,
    wake_at: datetime | None = None,
) -> dict[str, Any]:
    """One entry as it is stored.

    step     call, hold, wait, callback, review, decision, cancel, retry, lease
    outcome  a failure's code, or what came of it ("accepted", "approved", …)
    wake_at  until when the run sleeps or waits after it
    """
    fields: dict[str, Any] = {"s": step, "a": attempt, "o": outcome}
    for name, instant in (("f", started), ("t", ended), ("w", wake_at)):
        if instant is not None:
            fields[name] = round(instant.timestamp() * 1000)
    return fields


def appended(steps: Sequence[dict[str, Any]] | None, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored entries followed by `more`, without the oldest above the limit. A hold replaces a hold before it."""
    entries = list(steps or ())
    for step in more:
        if step["s"] == HOLD and entries and entries[-1]["s"] == HOLD:
            entries.pop()
        entries.append(step)
    return entries[-MAX_STEPS:]


def moment(milliseconds: int | None) -> datetime | None:
    """A stored time."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
