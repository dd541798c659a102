"""Decide what a caller may send, as pure functions of the state that all workers share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from graders import pauses
from graders.guards import circuit, sizes, slots
from graders.guards.circuit import CallEvent
from graders.guards.state import State
from graders.guards.values import Answered, Permit

HALF_OPEN_WAIT_S: Final = 2.0  # how long the others wait before they check whether the probe succeeded


class Caller(Struct, frozen=True):
    """A holder that asks for a permit, and the grader's limits.

    want, out  calls that it wants in progress, and that are in progress
    lease_s    how long a probe may take
    """

    holder: str
    want: int
    out: int
    limit: int
    most: int
    lease_s: float


def allowed(state: State, caller: Caller, now: float) -> tuple[State, Permit]:
    """Register or renew the caller's share; return the new state and what the caller may send."""
    if caller.want:
        state = replace(state, circuit=circuit.due(state.circuit, now))
    else:
        state = replace(state, circuit=circuit.leave(state.circuit, caller.holder))
    if state.circuit.phase == "open":
        return _held(state, caller, state.circuit.until, now)
    if state.circuit.phase == "half_open" and caller.want:
        return _probing(state, caller, now)
    return _share(state, caller, caller.want, now)


def learned(
    state: State, caller: Caller, events: Sequence[CallEvent], answers: Sequence[Answered], now: float
) -> tuple[State, Permit]:
    """Apply the results of calls; return the new state and what the caller may send then."""
    judged = circuit.judge(
        state.circuit,
        events,
        holder=caller.holder,
        sole=not any(other.held for other in slots.live(state.holders, caller.holder, now).values()),
        lease_s=caller.lease_s,
        now=now,
    )
    return allowed(replace(state, circuit=judged, batch=sizes.learn(state.batch, answers, caller.most)), caller, now)


def _share(state: State, caller: Caller, want: int, now: float) -> tuple[State, Permit]:
    holders, room = slots.renew(state.holders, caller.holder, want=want, out=caller.out, limit=caller.limit, now=now)
    permit = Permit(
        slots=room,
        batch=sizes.current(state.batch, caller.most),
        probing=False,
        others=len(holders) - (caller.holder in holders),
    )
    return replace(state, holders=holders), permit


def _held(state: State, caller: Caller, until: float, now: float) -> tuple[State, Permit]:
    state, permit = _share(state, caller, 0, now)
    return state, replace(permit, hold_until=datetime.fromtimestamp(until, UTC), hold_reason=pauses.CIRCUIT_OPEN)


def _probing(state: State, caller: Caller, now: float) -> tuple[State, Permit]:
    """Let one caller probe, within the grader's concurrency; the others wait a moment."""
    shared, permit = _share(state, caller, 1, now)
    probed = circuit.probe(state.circuit, caller.holder, lease_s=caller.lease_s, now=now) if permit.slots else None
    if probed is None or probed.probe != caller.holder:
        return _held(state, caller, now + HALF_OPEN_WAIT_S, now)
    return replace(shared, circuit=probed), replace(permit, batch=1, probing=True)
