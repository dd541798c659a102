"""The body that makes signed HTTP calls: it builds, sends and reads the calls to an endpoint grader.

An asynchronous grader may call back before its 202 is read, so Autotune records each call to it before sending it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders import credentials, status, targets
from graders.gateway import outcomes, requests
from graders.gateway.evidence import CallExchange
from graders.gateway.types import GraderCall, GraderTarget
from graders.models import Grader
from graders.verdicts import Failure, GraderItem
from scores.callbacks import registry
from scores.engine.bodies.interface import CallEnd, OpenCall, Result
from scores.engine.claims import ClaimedRun
from scores.engine.planning import PlannedCall


@dataclass(frozen=True, slots=True)
class SignedCallEnd(CallEnd):
    """The end of a signed call. `key_id_verified`: id of the secret with which the answer verified, or None."""

    signed: GraderCall | None = None
    key_id_verified: str | None = None
    exchange: CallExchange | None = None

    def evidence(self, completion_id: str) -> dict[str, Any]:
        """See CallEnd."""
        assert self.exchange is not None
        return self.exchange.evidence(completion_id)


class EndpointBody:
    """The open calls of one thread to one grader."""

    def __init__(self, grader: Grader) -> None:
        self._engine = engine.engine()
        self._engine.abandon()  # an earlier drain of this thread may have left calls
        self._open: dict[str, tuple[OpenCall, GraderCall]] = {}
        self._fresh: list[tuple[OpenCall, GraderCall, str]] = []
        self._refused = grader.auth_failures > 0
        self.take_over(grader)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def batched(self) -> bool:
        return self._target.max_batch_size > 1

    def take_over(self, grader: Grader) -> None:
        assert grader.version_id is not None  # callable_grader checks it
        self._target: GraderTarget = targets.load(grader)
        self._grader_id, self._version_id, self._answers_later = grader.pk, grader.version_id, grader.supports_async

    def can_judge(self, version_id: UUID | None) -> bool:
        """See Body. A service judges only as what it is now."""
        return version_id is None or version_id == self._version_id

    def split(self, items: Sequence[GraderItem]) -> list[list[GraderItem]]:
        return requests.split_by_size(items)

    def begin(self, planned: PlannedCall, *, now: datetime, number: int, is_repeat: bool = False) -> None:
        """See Body. A repeated call is signed with the current secret."""
        target, entries, options = self._target, planned.entries, planned.options
        secret = target.current if is_repeat else None
        attempt = max(run.failures for run, _ in entries) + 1
        token, address = registry.new_address(now) if self._answers_later else ("", None)
        if target.max_batch_size > 1 or len(entries) > 1:
            items = [material.item for _, material in entries]
            call = requests.build_batch(target, items, options, attempt, secret=secret, callback=address)
        else:
            item = entries[0][1].item
            call = requests.build_score(target, item, options, attempt, secret=secret, callback=address)
        open_call = OpenCall(planned, self._version_id, now, number)
        self._open[call.request_id] = open_call, call
        self._fresh.append((open_call, call, token))

    def send(self) -> None:
        """See Body. Calls that the grader may answer by callback are recorded first."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, []
        recorded = [
            (call, token, [(run.run_id, run.attempt) for run, _ in open_call.planned.entries])
            for open_call, call, token in fresh
            if token
        ]
        if recorded:
            registry.record(self._grader_id, fresh[0][0].version_id, recorded)
        for _, call, _ in fresh:
            self._engine.submit(call.request, call.request_id)

    def ends(self, patience_s: float) -> Iterator[CallEnd]:
        answered = [
            (pair, response)
            for tag, response in self._engine.poll(patience_s)
            if (pair := self._open.pop(str(tag), None))
        ]
        for pair, response in answered:  # read one by one: the drain may read the grader again in between
            yield self._end(*pair, response)

    def _end(self, open_call: OpenCall, call: GraderCall, response: OutboundResponse | OutboundError) -> SignedCallEnd:
        outcome = outcomes.interpret(call, self._target, response)
        return SignedCallEnd(
            open_call,
            outcome.verdicts,
            outcome.latency_ms,
            call.kind == "batch",
            waits_until=call.callback.expires_at if call.callback else None,
            signed=call,
            key_id_verified=outcome.key_id_verified,
            exchange=CallExchange(call, self._target, response),
        )

    def can_repeat(self, end: CallEnd) -> bool:
        assert isinstance(end, SignedCallEnd)
        assert end.signed is not None
        return end.signed.key.key_id != self._target.current.key_id

    def note(self, end: CallEnd, first: Result) -> bool:
        """See Body. It notes that the grader knows a secret, rejects Autotune, or is gone."""
        assert isinstance(end, SignedCallEnd)
        verified, target = end.key_id_verified, self._target
        must_refresh = verified != target.signing[0].key_id and verified == target.current.key_id
        if must_refresh:
            credentials.note_verified(target, verified)
        if isinstance(first, Failure) and first.gone:
            status.note_gone(self._grader_id)
        elif isinstance(first, Failure) and first.code == "auth_failed":
            status.note_auth_failure(self._grader_id)
            self._refused = True
        elif verified is not None and self._refused:
            status.note_auth_success(self._grader_id)
            self._refused = False
        return must_refresh

    def runs(self) -> Iterator[ClaimedRun]:
        for open_call, _ in self._open.values():
            yield from (run for run, _ in open_call.planned.entries)

    def abandon(self) -> None:
        """See Body. The answers to the open calls are not read."""
        self._fresh.clear()
        if self._open:
            self._open.clear()
            self._engine.abandon()
