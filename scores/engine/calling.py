"""Build, send and read the calls of a drain.

An asynchronous grader may call back before its 202 is read, so Autotune records each call to it before sending it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders.gateway import requests
from graders.gateway.types import Call, GraderTarget, Secret
from graders.verdicts import Options
from scores.callbacks import registry
from scores.engine.claims import Claimed
from scores.engine.planning import Entries


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent and is not answered yet.

    version_id  the grader's version when the call was sent
    number      the call's position among the calls of the drain
    """

    call: Call
    entries: Entries
    version_id: UUID
    at: datetime
    number: int


class Calls:
    """The open calls of one thread."""

    def __init__(self) -> None:
        self._engine = engine.engine()
        self._engine.abandon()  # an earlier drain of this thread may have left calls
        self._out: dict[str, Sent] = {}
        self._fresh: list[tuple[Sent, str]] = []

    def __len__(self) -> int:
        return len(self._out)

    def build(
        self,
        target: GraderTarget,
        version_id: UUID,
        entries: Entries,
        options: Options,
        *,
        now: datetime,
        number: int,
        answers_later: bool,
        secret: Secret | None = None,
    ) -> None:
        """Build a call; the next `send` sends it."""
        attempt = max(run.failures for run, _ in entries) + 1
        token, address = registry.new_address(now) if answers_later else ("", None)
        if target.max_batch_size > 1 or len(entries) > 1:
            items = [material.item for _, material in entries]
            call = requests.build_batch(target, items, options, attempt, secret=secret, callback=address)
        else:
            item = entries[0][1].item
            call = requests.build_score(target, item, options, attempt, secret=secret, callback=address)
        sent = Sent(call, entries, version_id, now, number)
        self._out[call.request_id] = sent
        self._fresh.append((sent, token))

    def send(self, grader_id: UUID) -> None:
        """Send the calls that were built, after recording those that the grader may answer by callback."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, []
        recorded = [
            (sent.call, token, [(run.run_id, run.attempt) for run, _ in sent.entries]) for sent, token in fresh if token
        ]
        if recorded:
            registry.record(grader_id, fresh[0][0].version_id, recorded)
        for sent, _ in fresh:
            self._engine.submit(sent.call.request, sent.call.request_id)

    def answers(self, patience_s: float) -> Iterator[tuple[Sent, OutboundResponse | OutboundError]]:
        """Yield the answers that have arrived; wait at most `patience_s` seconds for the first."""
        for tag, result in self._engine.poll(patience_s):
            if sent := self._out.pop(str(tag), None):
                yield sent, result

    def runs(self) -> Iterator[Claimed]:
        for sent in self._out.values():
            yield from (run for run, _ in sent.entries)

    def abandon(self) -> None:
        """Drop the open calls without reading their answers. Only for use after an error: the leases must expire."""
        self._fresh.clear()
        if self._out:
            self._out.clear()
            self._engine.abandon()
