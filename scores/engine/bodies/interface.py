"""The interface between a drain and what judges: it takes planned calls and returns their ends.

A body judges for some kinds of graders: over HTTP (endpoint.py) or in child processes (hosted.py). Claims, leases,
retries, limits, saving, events and statistics are the same for all kinds and belong to the drain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from graders.models import Grader
from graders.verdicts import Acceptance, Failure, GraderItem, Verdict
from scores.engine.claims import ClaimedRun
from scores.engine.planning import PlannedCall
from scores.states import WaitKind

Result = Verdict | Failure | Acceptance


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that has started and has not ended.

    version_id  the grader version that judges
    at          when it began
    number      the call's position among the calls of the drain
    """

    planned: PlannedCall
    version_id: UUID
    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The end of a call.

    results       by completion id: an entry for every item of the call
    batched       whether the call's form was that of a batch
    waits_until   when the wait of items with an Acceptance expires
    waits_for     what items with an Acceptance wait for: the grader's callback, or a model's answer
    """

    call: OpenCall
    results: Mapping[str, Result]
    latency_ms: float
    batched: bool
    waits_until: datetime | None = None
    waits_for: WaitKind = WaitKind.CALLBACK

    def evidence(self, completion_id: str) -> dict[str, Any]:
        """Describe the call for a completion on which it failed, as JSON."""
        return {"durationMs": round(self.latency_ms, 1)}


class Body(Protocol):
    """Judges the planned calls of one drain. Only the drain's thread uses it."""

    def __len__(self) -> int:
        """The number of calls that have started and not ended."""

    @property
    def batched(self) -> bool:
        """Whether a call may have several items."""

    def take_over(self, grader: Grader) -> None:
        """Use the settings of the grader's row, which was read again.

        raises Unreadable if its secret is damaged
        """

    def can_judge(self, version_id: UUID | None) -> bool:
        """Whether it judges as this version of the grader; None means the version that the grader has."""

    def split(self, items: Sequence[GraderItem]) -> list[list[GraderItem]]:
        """Split the items of one call, in order, into groups that each fit into a call."""

    def begin(self, planned: PlannedCall, *, now: datetime, number: int, is_repeat: bool = False) -> None:
        """Start a call; the next `send` sends it.

        is_repeat  the call repeats one for which `can_repeat` was true
        """

    def send(self) -> None:
        """Send the calls that have started since the last `send`."""

    def ends(self, patience_s: float) -> Iterator[CallEnd]:
        """Yield the calls that have ended; wait at most `patience_s` seconds for the first."""

    def can_repeat(self, end: CallEnd) -> bool:
        """Whether the same call can succeed now, because the grader's row has changed since it began."""

    def note(self, end: CallEnd, first: Result) -> bool:
        """Store what an end shows about the grader itself. Return whether the drain must read the grader again.

        first  the result of the call's first item
        """

    def runs(self) -> Iterator[ClaimedRun]:
        """The runs of the calls that have not ended."""

    def abandon(self) -> None:
        """Drop the open calls. Only for use after an error: the leases must expire."""
