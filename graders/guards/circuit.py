"""The circuit breaker: closed, open, half-open (docs/protocol, section 5).

A row is a series of failures in the order in which a drain sent its calls, not in which the answers arrived: a grader
that fails one call of five at once and answers the others slowly has no row. Rows of several drains are joined in the
order of their reports. Drains report successful answers within a second, so a row that only one of several drains saw
opens the circuit when it is at least a second old.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from graders.guards.state import Circuit

ROW: Final = 5
WINDOW_S: Final = 60.0
SPAN_S: Final = 5.0
WINDOW_CALLS: Final = 20
FIRST_WAIT_S: Final = 10.0
MAX_WAIT_S: Final = 300.0
GOOD_TRIALS: Final = 3
REPORT_EVERY_S: Final = 1.0


class CallEvent(NamedTuple):
    """An event that a drain reports: a call ended (not `in_row`), or is next in the order of sending (`in_row`)."""

    in_row: bool
    ok: bool


def judge(
    circuit: Circuit, events: Sequence[CallEvent], *, drain_id: str, sole: bool, lease_s: float, now: float
) -> Circuit:
    """Return the circuit after a drain's events. An open circuit counts nothing, a half-open one only the trial call.

    sole     no other drain may have calls in progress
    lease_s  how long the next trial call may take
    """
    if not events:
        return circuit
    if circuit.phase == "half_open" and circuit.trial_by == drain_id:
        return _after_trial(circuit, [ok for in_row, ok in events if in_row], lease_s, now)
    if circuit.phase == "closed":
        return _counted(circuit, events, drain_id, sole, now)
    return circuit


def due(circuit: Circuit, now: float) -> Circuit:
    """Apply the passage of time: half-open after the wait, open for a row that nobody has broken within a second."""
    if circuit.phase == "open" and circuit.until <= now:
        return replace(circuit, phase="half_open", good=0, trial_by="")
    if circuit.phase == "closed" and circuit.row >= ROW and _is_certain(circuit.row_since, now):
        return _opened(circuit, now)
    return circuit


def doubtful() -> Circuit:
    """Return a half-open circuit, for a grader whose circuit was open when its state was lost."""
    return Circuit(phase="half_open", wait_s=FIRST_WAIT_S)


def begin_trial(circuit: Circuit, drain_id: str, *, lease_s: float, now: float) -> Circuit:
    """Let the drain make the trial call unless another drain makes it.

    A repeated request does not renew the lease, so the trial call of a killed drain ends.
    """
    if circuit.trial_by and circuit.trial_until > now:
        return circuit
    return replace(circuit, trial_by=drain_id, trial_until=now + lease_s)


def leave(circuit: Circuit, drain_id: str) -> Circuit:
    """End the drain's trial call, if it makes one."""
    return replace(circuit, trial_by="", trial_until=0.0) if circuit.trial_by == drain_id else circuit


def reason(circuit: Circuit) -> str:
    """Explain to people why the circuit is open."""
    wait = f"The next trial call follows in {circuit.wait_s:g} s"
    if circuit.wait_s > FIRST_WAIT_S:
        return f"The circuit is open: a trial call failed. {wait}."
    return f"The circuit is open: {ROW} calls in a row failed, or half of the calls in the last minute. {wait}."


def _is_certain(row_since: float, now: float) -> bool:
    """Return whether the other drains must have reported by now which calls succeeded since the row began."""
    return now - row_since >= REPORT_EVERY_S


def _after_trial(circuit: Circuit, answers: Sequence[bool], lease_s: float, now: float) -> Circuit:
    for ok in answers:
        if not ok:
            return _opened(circuit, now)
        circuit = replace(circuit, good=circuit.good + 1, trial_until=now + lease_s)
        if circuit.good >= GOOD_TRIALS:
            return Circuit()
    return circuit


def _counted(circuit: Circuit, events: Sequence[CallEvent], drain_id: str, sole: bool, now: float) -> Circuit:
    row, row_by, row_since = circuit.row, circuit.row_by, circuit.row_since
    spans = {start: [calls, bad] for start, calls, bad in circuit.window if start > now - WINDOW_S}
    span = spans.setdefault(now - now % SPAN_S, [0, 0])
    calls, bad = (sum(counts[index] for counts in spans.values()) for index in (0, 1))
    for in_row, ok in events:
        if not in_row:
            span[0], calls = span[0] + 1, calls + 1
            span[1], bad = span[1] + (not ok), bad + (not ok)
            if calls >= WINDOW_CALLS and 2 * bad >= calls:
                return _opened(circuit, now)
        elif ok:
            row, row_by, row_since = 0, "", 0.0
        else:
            row, row_by, row_since = (row + 1, row_by, row_since) if row else (1, drain_id, now)
            row_by = row_by if row_by == drain_id else ""
            if row >= ROW and (sole or not row_by or _is_certain(row_since, now)):
                return _opened(circuit, now)
    window = tuple((start, counts[0], counts[1]) for start, counts in sorted(spans.items()))
    return replace(circuit, row=row, row_by=row_by, row_since=row_since, window=window)


def _opened(circuit: Circuit, now: float) -> Circuit:
    wait = min(MAX_WAIT_S, max(FIRST_WAIT_S, 2 * circuit.wait_s))
    return Circuit(phase="open", until=now + wait, wait_s=wait)
