"""The permits that a drain gets, and the answers that it reports."""

from datetime import datetime

from msgspec import Struct


class Permit(Struct, frozen=True):
    """What a drain may send now.

    slots        calls that this holder may have in progress; 0: others hold all of them, ask again soon
    batch        maximum of items in a call
    probing      the circuit is half-open and the probe is ours: one call of one item
    hold_until   nothing may be sent before it
    hold_reason  why (graders.pauses)
    others       how many other holders there are; ask again soon while there are any
    """

    slots: int
    batch: int
    probing: bool
    hold_until: datetime | None = None
    hold_reason: str = ""
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
