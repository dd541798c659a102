"""The permits that a drain gets, and the answers that it reports."""

from datetime import datetime

from msgspec import Struct


class Permit(Struct, frozen=True):
    """What a drain may send now.

    slots         calls that this drain may have in progress; 0: others hold all of them, ask again soon
    batch         maximum of items in a call
    is_trial      the circuit is half-open and the trial call is ours: one call of one item
    pause_until   nothing may be sent before it
    pause_reason  why (graders.pauses)
    others        how many other drains there are; ask again soon while there are any
    """

    slots: int
    batch: int
    is_trial: bool
    pause_until: datetime | None = None
    pause_reason: str = ""
    others: int = 0


class CallReport(Struct, frozen=True):
    """The result of one call.

    ok      False: a failure that counts for the circuit
    shrink  a 413 to several items, or a timeout of a batch
    number  what `Guard.sent()` returned when the call was sent; with 0, calls count in the order of their answers
    """

    ok: bool
    items: int
    shrink: bool = False
    number: int = 0
