"""Concurrency: divide a grader's limit of calls in progress among the drains."""

from collections.abc import Mapping
from typing import Final

from graders.guards.state import CallingDrain

LEASE_S: Final = 15.0  # after it, the slots of a drain that was killed are free

Drains = dict[str, CallingDrain]


def shares(wants: Mapping[str, int], limit: int) -> dict[str, int]:
    """Divide the limit equally; what a drain does not want is divided among the others."""
    share_by_drain: dict[str, int] = {}
    for index, name in enumerate(sorted(wants, key=lambda name: (wants[name], name))):
        share_by_drain[name] = min(wants[name], limit // (len(wants) - index))
        limit -= share_by_drain[name]
    return share_by_drain


def renew(drains: Drains, drain_id: str, *, want: int, out: int, limit: int, now: float) -> tuple[Drains, int]:
    """Register or renew a drain's share.

    out      calls that it has in progress; they keep their slots even if the share is smaller by now
    returns  the drains, and how many calls this one may have in progress. Slots that others still use become free when
             those renew, so the sum never exceeds the limit
    """
    rest = live(drains, drain_id, now)
    share = shares({name: other.want for name, other in rest.items()} | {drain_id: want}, limit)[drain_id]
    slots = max(0, min(share, limit - sum(other.slots for other in rest.values())))
    if want == 0 and out == 0:
        return rest, 0
    return rest | {drain_id: CallingDrain(now + LEASE_S, want, max(slots, out))}, slots


def live(drains: Drains, drain_id: str, now: float) -> Drains:
    """Return the other drains whose lease has not expired."""
    return {name: other for name, other in drains.items() if name != drain_id and other.until > now}
