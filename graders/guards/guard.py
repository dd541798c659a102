"""The guard of one drain: it asks what the drain may send, and reports the results of its calls."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from graders import pauses, status
from graders.guards import bucket, circuit, permits
from graders.guards.circuit import CallEvent
from graders.guards.homes import GuardStore
from graders.guards.permits import PermitRequest
from graders.guards.rows import CallSequence
from graders.guards.state import NOTHING, Circuit, GuardState
from graders.guards.values import CallReport, Permit
from graders.models import Grader
from graders.states import Trouble

T = TypeVar("T")

TRIAL_MARGIN_S: Final = 5.0
CLOSED_REASON: Final = f"The circuit is closed: {circuit.GOOD_TRIALS} trial calls in a row succeeded."


class Guard:
    """Decides what a drain may send to a grader, and collects the results of its calls. For one thread.

    drain_id  a string that no other drain has
    """

    def __init__(self, grader: Grader, drain_id: str) -> None:
        self.drain_id = drain_id
        self._home = GuardStore(grader.pk)
        self._rows = CallSequence()
        self._events: list[CallEvent] = []
        self._answers: list[CallReport] = []
        self._reported_at = 0.0
        self._want = 0
        self._registered = False
        self._seen: Circuit = NOTHING.circuit
        self._permit = Permit(slots=0, batch=1, is_trial=False)
        self._clock = (0.0, time.monotonic())
        self._grader: Grader | None = None
        self._take_over(grader)

    def refresh(self, grader: Grader, *, want: int, now: datetime) -> Permit:
        """Register or renew our share of the concurrency for 15 seconds; return what may be sent. One round trip.

        grader  its row; it may be the same object as before
        want    calls that we want in progress, including those that are; 0 returns the share as calls end
        """
        self._take_over(grader)
        self._want, timestamp = want, self._timestamp(now)
        self._registered = True
        self._ask(lambda state: permits.allowed(state, self._caller(), timestamp), timestamp)
        self._agree()
        return self._permit

    def take(self, completions: int, *, now: datetime) -> tuple[int, datetime | None]:
        """Take tokens of the rate limit: return for how many completions, and when to ask for the rest.

        Without a rate limit, this takes no round trip.
        """
        rate, timestamp = self._rate, self._timestamp(now)
        if not rate or completions <= 0:
            return completions, None

        def rule(state: GuardState) -> tuple[GuardState, tuple[int, float | None]]:
            bucket_after, granted, more_at = bucket.take(state.bucket, completions, rate=rate, now=timestamp)
            return replace(state, bucket=bucket_after), (granted, more_at)

        granted, more_at = self._change(rule, timestamp)
        return granted, None if more_at is None else datetime.fromtimestamp(more_at, UTC)

    def give_back(self, completions: int) -> None:
        """Return the tokens of completions that were not sent after all."""
        rate = self._rate
        if not rate or completions <= 0:
            return

        def rule(state: GuardState) -> tuple[GuardState, None]:
            return replace(state, bucket=bucket.give_back(state.bucket, completions, rate=rate)), None

        self._change(rule, self._present())

    def sent(self) -> int:
        """Number a call that is sent now, for its `CallReport`. No round trip."""
        return self._rows.sent()

    def note(self, answers: Sequence[CallReport], *, now: datetime) -> Permit | None:
        """Record the results of calls in the order in which they ended. Each numbered call must be noted once.

        This takes a round trip only for a failure, if the circuit is not closed or saw failures, or once a second.
        returns  the new permit, if the circuit, our share or the batch size changed
        """
        timestamp = self._timestamp(now)
        self._events += self._rows.hear(answers)
        self._answers += answers
        if not self._has_news(timestamp):
            return None
        before = self._permit
        self._report(timestamp)
        return self._permit if _differs(before, self._permit) else None

    def close(self) -> None:
        """Report the remaining events, and release the share."""
        self._events += self._rows.end()
        self._want = 0
        if self._registered or self._events:
            self._report(self._present())
        self._registered = False

    def _take_over(self, grader: Grader) -> None:
        if grader is self._grader:
            return  # its columns about the circuit are older than our own changes
        self._grader, self._grader_id = grader, grader.pk
        self._rate = grader.rate_per_minute
        self._limit = grader.max_concurrency
        self._most = grader.max_batch_size
        self._lease_s = max(grader.timeout_ms, grader.batch_timeout_ms) / 1_000 + TRIAL_MARGIN_S
        self._troubled = Trouble.CIRCUIT in grader.troubles
        self._paused_until = grader.held_until

    def _caller(self) -> PermitRequest:
        return PermitRequest(
            drain_id=self.drain_id,
            want=self._want,
            out=self._rows.out,
            limit=self._limit,
            most=self._most,
            lease_s=self._lease_s,
        )

    def _timestamp(self, now: datetime) -> float:
        self._clock = (now.timestamp(), time.monotonic())
        return self._clock[0]

    def _present(self) -> float:
        """Return the time of the database's clock, estimated from the last time that a caller passed."""
        return self._clock[0] + time.monotonic() - self._clock[1] if self._clock[0] else time.time()

    def _has_news(self, at: float) -> bool:
        if any(not event.ok for event in self._events) or any(answer.shrink for answer in self._answers):
            return True
        if not self._events:
            return False
        return self._seen.phase != "closed" or self._seen.row > 0 or at - self._reported_at >= circuit.REPORT_EVERY_S

    def _report(self, at: float) -> None:
        events, answers = self._events, self._answers
        self._events, self._answers, self._reported_at = [], [], at
        self._ask(lambda state: permits.learned(state, self._caller(), events, answers, at), at)

    def _ask(self, rule: Callable[[GuardState], tuple[GuardState, Permit]], at: float) -> None:
        """Apply a rule that returns a permit, and update the grader's row if the rule opened or closed the circuit."""

        def watched(state: GuardState) -> tuple[GuardState, tuple[Permit, Circuit, Circuit]]:
            after, permit = rule(state)
            return after, (permit, state.circuit, after.circuit)

        self._permit, before, after = self._change(watched, at)
        if (after.phase, after.until) != (self._seen.phase, self._seen.until):
            self._rows.forget()
        self._seen = after
        if after.phase == "open" and before.phase != "open":
            self._open()
        elif after.phase == "closed" and before.phase != "closed":
            self._close()

    def _change(self, rule: Callable[[GuardState], tuple[GuardState, T]], at: float) -> T:
        """Apply a rule to the shared state. If that was lost, the grader's troubles say that the circuit was open."""

        def careful(state: GuardState) -> tuple[GuardState, T]:
            is_lost = self._troubled and not state.is_known
            return rule(replace(state, circuit=circuit.doubtful()) if is_lost else state)

        return self._home.change(careful, at)

    def _agree(self) -> None:
        """Correct the grader's row if the process that changed the circuit died before it updated the row."""
        if self._seen.phase == "open":
            if not self._troubled or self._paused_until is None or self._paused_until.timestamp() < self._seen.until:
                self._open()
        elif self._seen.phase == "closed" and self._troubled:
            self._close()

    def _open(self) -> None:
        until = datetime.fromtimestamp(self._seen.until, UTC)
        self._troubled, self._paused_until = True, until
        status.trouble(self._grader_id, Trouble.CIRCUIT, circuit.reason(self._seen))
        pauses.pause(self._grader_id, until, pauses.CIRCUIT_OPEN)

    def _close(self) -> None:
        self._troubled = False
        status.recovered(self._grader_id, Trouble.CIRCUIT, CLOSED_REASON)
        pauses.release(self._grader_id, pauses.CIRCUIT_OPEN)


def _differs(before: Permit, after: Permit) -> bool:
    """Return whether the circuit, our share or the batch size changed. A report renews the share, perhaps smaller."""
    return (before.is_trial, before.pause_until, before.batch, before.slots) != (
        after.is_trial, after.pause_until, after.batch, after.slots,
    )  # fmt: skip
