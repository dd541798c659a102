"""The guard of one drain: asks what may be sent, reports what came back."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from graders import pauses, status
from graders.guards import bucket, circuit, permits
from graders.guards.circuit import CallEvent
from graders.guards.homes import Home
from graders.guards.permits import Caller
from graders.guards.rows import Rows
from graders.guards.state import NOTHING, Circuit, State
from graders.guards.values import Answered, Permit
from graders.models import Grader
from graders.states import Trouble

T = TypeVar("T")

PROBE_MARGIN_S: Final = 5.0
CLOSED_REASON: Final = f"The circuit is closed: {circuit.GOOD_PROBES} calls in a row went well."


class Guard:
    """What a drain may send to a grader, and what it learns of it. For one thread.

    holder  a text that no other drain has
    """

    def __init__(self, grader: Grader, holder: str) -> None:
        self.holder = holder
        self._home = Home(grader.pk)
        self._rows = Rows()
        self._events: list[CallEvent] = []
        self._answers: list[Answered] = []
        self._reported_at = 0.0
        self._want = 0
        self._registered = False
        self._seen: Circuit = NOTHING.circuit
        self._permit = Permit(slots=0, batch=1, probing=False)
        self._clock = (0.0, time.monotonic())
        self._grader: Grader | None = None
        self._take_over(grader)

    def refresh(self, grader: Grader, *, want: int, now: datetime) -> Permit:
        """What may be sent now; registers or renews our share of the concurrency for 15 seconds. One round trip.

        grader  its row; it may be the same object as before
        want    calls that we would have out, those that are out included; 0 gives the share back, as calls end
        """
        self._take_over(grader)
        self._want, timestamp = want, self._timestamp(now)
        self._registered = True
        self._ask(lambda state: permits.allowed(state, self._caller(), timestamp), timestamp)
        self._agree()
        return self._permit

    def take(self, completions: int, *, now: datetime) -> tuple[int, datetime | None]:
        """Tokens of the rate limit for so many completions: how many are granted, and when to ask for the rest.

        No round trip without a rate limit.
        """
        rate, timestamp = self._rate, self._timestamp(now)
        if not rate or completions <= 0:
            return completions, None

        def rule(state: State) -> tuple[State, tuple[int, float | None]]:
            bucket_after, granted, more_at = bucket.take(state.bucket, completions, rate=rate, now=timestamp)
            return replace(state, bucket=bucket_after), (granted, more_at)

        granted, more_at = self._change(rule, timestamp)
        return granted, None if more_at is None else datetime.fromtimestamp(more_at, UTC)

    def give_back(self, completions: int) -> None:
        """Put back tokens of completions that were not asked for after all."""
        rate = self._rate
        if not rate or completions <= 0:
            return

        def rule(state: State) -> tuple[State, None]:
            return replace(state, bucket=bucket.give_back(state.bucket, completions, rate=rate)), None

        self._change(rule, self._present())

    def sent(self) -> int:
        """The number of a call that goes out now, for its `Answered`. No round trip."""
        return self._rows.sent()

    def note(self, answers: Sequence[Answered], *, now: datetime) -> Permit | None:
        """What calls brought, in the order in which they ended. Each call that has a number must be noted once.

        A round trip for news only: a failure, a circuit that is not closed or saw failures, or a second has passed.
        returns  the new permit, where the circuit, our share or the size of batches changed
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
        """Report the remaining events, and give the share back."""
        self._events += self._rows.end()
        self._want = 0
        if self._registered or self._events:
            self._report(self._present())
        self._registered = False

    def _take_over(self, grader: Grader) -> None:
        if grader is self._grader:
            return  # what it says of the circuit is older than what we did since
        self._grader, self._grader_id = grader, grader.pk
        self._rate = grader.rate_per_minute
        self._limit = grader.max_concurrency
        self._most = grader.max_batch_size
        self._lease_s = max(grader.timeout_ms, grader.batch_timeout_ms) / 1_000 + PROBE_MARGIN_S
        self._troubled = Trouble.CIRCUIT in grader.troubles
        self._held_until = grader.held_until

    def _caller(self) -> Caller:
        return Caller(
            holder=self.holder,
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
        """The database's clock, as far as we have heard of it."""
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

    def _ask(self, rule: Callable[[State], tuple[State, Permit]], at: float) -> None:
        """Apply a rule that gives a permit, and do what follows from a circuit that it opened or closed."""

        def watched(state: State) -> tuple[State, tuple[Permit, Circuit, Circuit]]:
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

    def _change(self, rule: Callable[[State], tuple[State, T]], at: float) -> T:
        """Apply a rule at home. Where the state was lost, an open circuit is known from the grader's troubles."""

        def careful(state: State) -> tuple[State, T]:
            is_lost = self._troubled and not state.is_known
            return rule(replace(state, circuit=circuit.doubtful()) if is_lost else state)

        return self._home.change(careful, at)

    def _agree(self) -> None:
        """Make the grader's row say what the circuit is, where whoever changed it died before it could."""
        if self._seen.phase == "open":
            if not self._troubled or self._held_until is None or self._held_until.timestamp() < self._seen.until:
                self._open()
        elif self._seen.phase == "closed" and self._troubled:
            self._close()

    def _open(self) -> None:
        until = datetime.fromtimestamp(self._seen.until, UTC)
        self._troubled, self._held_until = True, until
        status.trouble(self._grader_id, Trouble.CIRCUIT, circuit.reason(self._seen))
        pauses.hold(self._grader_id, until, pauses.CIRCUIT_OPEN)

    def _close(self) -> None:
        self._troubled = False
        status.recovered(self._grader_id, Trouble.CIRCUIT, CLOSED_REASON)
        pauses.release(self._grader_id, pauses.CIRCUIT_OPEN)


def _differs(before: Permit, after: Permit) -> bool:
    """Whether the circuit, our share or the size of batches changed; a report renews the share, maybe a smaller one."""
    return (before.probing, before.hold_until, before.batch, before.slots) != (
        after.probing, after.hold_until, after.batch, after.slots,
    )  # fmt: skip
