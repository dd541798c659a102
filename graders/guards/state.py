"""The state that all workers share about calling one grader, changed as a whole. Times are epoch seconds."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

STALE_S: Final = 600.0  # longer than the longest wait of a circuit: an older state no longer describes the grader

Phase = Literal["closed", "open", "half_open"]


class CallingDrain(Struct, frozen=True, array_like=True):
    """A drain that calls the grader.

    until  when its share ends unless it renews it
    want   calls that it wants in progress
    slots  calls that it may have in progress, or still has from a larger share
    """

    until: float
    want: int
    slots: int


class Circuit(Struct, frozen=True, omit_defaults=True):
    """Whether the grader is called.

    row          failures in a row, seen by `row_by` ('' for several drains), the first at `row_since`
    window       [start, calls, failures] of spans of 5 s, for the share of failures in a minute
    until        when an open circuit allows the first trial call
    wait_s       the wait that led to `until`; it doubles
    good         successful trial calls in a row
    trial_by     the drain that makes the trial call, until `trial_until`
    """

    phase: Phase = "closed"
    row: int = 0
    row_by: str = ""
    row_since: float = 0.0
    window: tuple[tuple[float, int, int], ...] = ()
    until: float = 0.0
    wait_s: float = 0.0
    good: int = 0
    trial_by: str = ""
    trial_until: float = 0.0


class TokenBucket(Struct, frozen=True, array_like=True):
    """The tokens of a rate limit, and the time when they were counted."""

    tokens: float
    at: float


class BatchSize(Struct, frozen=True, array_like=True):
    """The batch size.

    size  items in a call; 0 for the grader's registered maximum
    good  full batches that succeeded since the size changed
    """

    size: int = 0
    good: int = 0


class GuardState(Struct, frozen=True, omit_defaults=True):
    """The whole shared state of a grader.

    at  when it was last written; 0 if nothing is known
    """

    at: float = 0.0
    circuit: Circuit = Circuit()
    batch: BatchSize = BatchSize()
    bucket: TokenBucket | None = None
    drains: dict[str, CallingDrain] = {}

    @property
    def is_known(self) -> bool:
        return self.at > 0.0


NOTHING: Final = GuardState()

_decoder = msgspec.json.Decoder(GuardState)


def encode(state: GuardState) -> bytes:
    """Encode a state as JSON text."""
    return msgspec.json.encode(state)


def decode(text: bytes, now: float) -> GuardState:
    """Decode a stored state; return NOTHING if it is empty, not ours, or stale."""
    try:
        return _fresh(_decoder.decode(text), now) if text else NOTHING
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return NOTHING


def to_row(state: GuardState) -> dict[str, Any]:
    """Convert a state to a JSON object."""
    row: dict[str, Any] = msgspec.to_builtins(state)
    return row


def from_row(row: Any, now: float) -> GuardState:
    """Convert a JSON object to a state, as `decode` does for text."""
    try:
        return _fresh(msgspec.convert(row, GuardState), now)
    except msgspec.MsgspecError:
        return NOTHING


def _fresh(state: GuardState, now: float) -> GuardState:
    return state if state.at + STALE_S > now else NOTHING
