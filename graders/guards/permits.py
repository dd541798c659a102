"""Decide what a caller may send, as pure functions of the state that all workers share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from graders import pauses
from graders.guards import circuit, sizes, slots
from graders.guards.circuit import CallEvent
from graders.guards.state import GuardState
from graders.guards.values import CallReport, Permit

HALF_OPEN_WAIT_S: Final = 2.0  # how long the others wait before they check whether the trial call succeeded


class PermitRequest(Struct, frozen=True):
    """A drain that asks for a permit, and the grader's limits.

    want, out  calls that it wants in progress, and that are in progress
    lease_s    how long a trial call may take
    """

    drain_id: str
    want: int
    out: int
    limit: int
    most: int
    lease_s: float


def allowed(state: GuardState, caller: PermitRequest, now: float) -> tuple[GuardState, Permit]:
    """Register or renew the caller's share; return the new state and what the caller may send."""
    if caller.want:
        state = replace(state, circuit=circuit.due(state.circuit, now))
    else:
        state = replace(state, circuit=circuit.leave(state.circuit, caller.drain_id))
    if state.circuit.phase == "open":
        return _paused(state, caller, state.circuit.until, now)
    if state.circuit.phase == "half_open" and caller.want:
        return _trial(state, caller, now)
    return _share(state, caller, caller.want, now)


def learned(
    state: GuardState, caller: PermitRequest, events: Sequence[CallEvent], answers: Sequence[CallReport], now: float
) -> tuple[GuardState, Permit]:
    """Apply the results of calls; return the new state and what the caller may send then."""
    judged = circuit.judge(
        state.circuit,
        events,
        drain_id=caller.drain_id,
        sole=not any(other.slots for other in slots.live(state.drains, caller.drain_id, now).values()),
        lease_s=caller.lease_s,
        now=now,
    )
    return allowed(replace(state, circuit=judged, batch=sizes.learn(state.batch, answers, caller.most)), caller, now)


def _share(state: GuardState, caller: PermitRequest, want: int, now: float) -> tuple[GuardState, Permit]:
    drains, room = slots.renew(state.drains, caller.drain_id, want=want, out=caller.out, limit=caller.limit, now=now)
    permit = Permit(
        slots=room,
        batch=sizes.current(state.batch, caller.most),
        is_trial=False,
        others=len(drains) - (caller.drain_id in drains),
    )
    return replace(state, drains=drains), permit


def _paused(state: GuardState, caller: PermitRequest, until: float, now: float) -> tuple[GuardState, Permit]:
    state, permit = _share(state, caller, 0, now)
    return state, replace(permit, pause_until=datetime.fromtimestamp(until, UTC), pause_reason=pauses.CIRCUIT_OPEN)


def _trial(state: GuardState, caller: PermitRequest, now: float) -> tuple[GuardState, Permit]:
    """Let one caller make the trial call, within the grader's concurrency; the others wait a moment."""
    shared, permit = _share(state, caller, 1, now)
    with_trial = (
        circuit.begin_trial(state.circuit, caller.drain_id, lease_s=caller.lease_s, now=now) if permit.slots else None
    )
    if with_trial is None or with_trial.trial_by != caller.drain_id:
        return _paused(state, caller, now + HALF_OPEN_WAIT_S, now)
    return replace(shared, circuit=with_trial), replace(permit, batch=1, is_trial=True)
