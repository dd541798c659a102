"""Concurrency: how many calls each holder may have out, so that all of them together stay within the grader's limit."""

from collections.abc import Mapping
from typing import Final

from graders.guards.state import Holder

LEASE_S: Final = 15.0  # the slots of a holder that was killed come back after it

Holders = dict[str, Holder]


def shares(wants: Mapping[str, int], limit: int) -> dict[str, int]:
    """The fair share of each: equal ones, but nobody has more than it wants, and the others have what that leaves."""
    share_by_holder: dict[str, int] = {}
    for index, name in enumerate(sorted(wants, key=lambda name: (wants[name], name))):
        share_by_holder[name] = min(wants[name], limit // (len(wants) - index))
        limit -= share_by_holder[name]
    return share_by_holder


def renew(holders: Holders, holder: str, *, want: int, out: int, limit: int, now: float) -> tuple[Holders, int]:
    """Register or renew a holder's share.

    out      calls that it has out; they keep their slots although the share may be smaller by now
    returns  the holders, and how many calls this one may have out. A share that others still use comes later: they
             give it back when they renew, so the sum never exceeds the limit
    """
    rest = live(holders, holder, now)
    share = shares({name: other.want for name, other in rest.items()} | {holder: want}, limit)[holder]
    slots = max(0, min(share, limit - sum(other.held for other in rest.values())))
    if want == 0 and out == 0:
        return rest, 0
    return rest | {holder: Holder(now + LEASE_S, want, max(slots, out))}, slots


def live(holders: Holders, holder: str, now: float) -> Holders:
    """The others whose lease has not run out."""
    return {name: other for name, other in holders.items() if name != holder and other.until > now}
