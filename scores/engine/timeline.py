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
    made: dict[str, Any] = {"s": step, "a": attempt, "o": outcome}
    for name, at in (("f", started), ("t", ended), ("w", wake_at)):
        if at is not None:
            made[name] = round(at.timestamp() * 1000)
    return made


def appended(steps: Sequence[dict[str, Any]] | None, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored entries with `more` behind them, the oldest dropped. A hold after a hold takes its place."""
    kept = list(steps or ())
    for one in more:
        if one["s"] == HOLD and kept and kept[-1]["s"] == HOLD:
            kept.pop()
        kept.append(one)
    return kept[-MAX_STEPS:]


def moment(milliseconds: int | None) -> datetime | None:
    """A stored time."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
