"""The timeline of a run: what happened to it, in a compact form in its row.

A run that is called once and scored has no entries, since its other columns say everything. Each other event (a failed
attempt, a sleep, a wait, a decision, a retry) adds one entry; only the newest MAX_STEPS entries are kept.
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
    """Return one entry in the form in which it is stored.

    step     call, hold, wait, callback, model, review, decision, cancel, retry, lease
    outcome  a failure's code, or another result ("accepted", "approved", …)
    wake_at  until when the run sleeps or waits after this step
    """
    fields: dict[str, Any] = {"s": step, "a": attempt, "o": outcome}
    for name, instant in (("f", started), ("t", ended), ("w", wake_at)):
        if instant is not None:
            fields[name] = round(instant.timestamp() * 1000)
    return fields


def appended(steps: Sequence[dict[str, Any]] | None, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """Append `more` to the stored entries and drop the oldest above the limit. A hold replaces a hold before it."""
    entries = list(steps or ())
    for step in more:
        if step["s"] == HOLD and entries and entries[-1]["s"] == HOLD:
            entries.pop()
        entries.append(step)
    return entries[-MAX_STEPS:]


def moment(milliseconds: int | None) -> datetime | None:
    """Convert a stored time (milliseconds since 1970) to a datetime."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
