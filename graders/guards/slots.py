"""Concurrency: divide a grader's limit of calls in progress among the holders."""

from collections.abc import Mapping
from typing import Final

from graders.guards.state import CallingDrain

LEASE_S: Final = 15.0  # after it, the slots of a holder that was killed are free

Holders = dict[str, CallingDrain]


def shares(wants: Mapping[str, int], limit: int) -> dict[str, int]:
    """Divide the limit equally; what a holder does not want is divided among the others."""
    share_by_holder: dict[str, int] = {}
    for index, name in enumerate(sorted(wants, key=lambda name: (wants[name], name))):
        share_by_holder[name] = min(wants[name], limit // (len(wants) - index))
        limit -= share_by_holder[name]
    return share_by_holder


def renew(holders: Holders, holder: str, *, want: int, out: int, limit: int, now: float) -> tuple[Holders, int]:
    """Register or renew a holder's share.

    out      calls that it has in progress; they keep their slots even if the share is smaller by now
    returns  the holders, and how many calls this one may have in progress. Slots that others still use become free when
             those renew, so the sum never exceeds the limit
    """
    rest = live(holders, holder, now)
    share = shares({name: other.want for name, other in rest.items()} | {holder: want}, limit)[holder]
    slots = max(0, min(share, limit - sum(other.held for other in rest.values())))
    if want == 0 and out == 0:
        return rest, 0
    return rest | {holder: CallingDrain(now + LEASE_S, want, max(slots, out))}, slots


def live(holders: Holders, holder: str, now: float) -> Holders:
    """Return the other holders whose lease has not expired."""
    return {name: other for name, other in holders.items() if name != holder and other.until > now}
