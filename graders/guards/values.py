"""The permits that a drain gets, and the answers that it reports."""

from datetime import datetime

from msgspec import Struct


class Permit(Struct, frozen=True):
    """What may be sent now.

    slots        calls that this holder may have out; 0: others hold all of them, ask again soon
    batch        items in a call at most
    probing      the circuit is half-open and the probe is ours: one call of one item
    hold_until   nothing may go out before it
    hold_reason  why (graders.holds)
    others       how many other holders there are; ask again soon while there are any
    """

    slots: int
    batch: int
    probing: bool
    hold_until: datetime | None = None
    hold_reason: str = ""
    others: int = 0


class Answered(Struct, frozen=True):
    """What one call brought.

    ok      False: a failure that counts for the circuit
    shrink  a 413 to several items, or a time-out of a batch
    number  what `Guard.sent()` gave when the call went out; with 0, calls count in the order of their answers
    """

    ok: bool
    items: int
    shrink: bool = False
    number: int = 0
