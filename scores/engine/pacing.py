"""The pace of a drain: its share of the grader's calls, the items in a call, its tokens, and holds on the grader.

All workers share these limits (graders/guards). A drain requests its share a few times a second at most.
"""

import secrets
import time
from collections.abc import Mapping
from datetime import datetime, timedelta

from graders import pauses
from graders.guards import CallReport, Guard
from graders.models import Grader
from graders.verdicts import Failure

SHORT_S = 0.25  # between two requests for our share while others use a part of what we want
LONG_S = 2.0
PATIENCE_S = 2.0  # how long a drain that may not send a single call waits for its share
SOON = timedelta(seconds=1)  # a drain waits up to this long; for a longer wait the grader is paused and its runs sleep


class DrainPace:
    """One drain's view of its grader's limits. Times are from the database's clock."""

    def __init__(self, grader: Grader, now: datetime) -> None:
        self._guard = Guard(grader, secrets.token_hex(8))
        self._grader = grader
        self._answers: list[CallReport] = []
        self._tokens_at: datetime | None = None
        self._started = self._refreshed = time.monotonic()
        self._pause: tuple[datetime, str] | None = None
        self._want = grader.max_concurrency
        self._permit = self._guard.refresh(grader, want=self._want, now=now)
        self._take_over(grader)

    @property
    def window(self) -> int:
        """The number of calls that may be open at the same time."""
        return min(1, self._permit.slots) if self._permit.is_trial else self._permit.slots

    @property
    def is_trial(self) -> bool:
        """Whether the circuit is half-open: one call of one item at a time, among all workers."""
        return self._permit.is_trial

    @property
    def size(self) -> int:
        """The maximum number of items in a call."""
        return 1 if self._permit.is_trial else max(1, min(self._grader.max_batch_size, self._permit.batch))

    def refresh(self, grader: Grader, now: datetime, *, want: int) -> None:
        """Read the shared state again, if it is due.

        want  the number of open calls that the drain can use; calls that are open keep their place in any case
        """
        short = self._permit.others > 0 or self._permit.slots < grader.max_concurrency
        if want <= self._want and time.monotonic() - self._refreshed < (SHORT_S if short else LONG_S):
            return
        self._want, self._refreshed = want, time.monotonic()
        self._permit = self._guard.refresh(grader, want=want, now=now)

    def take_over(self, grader: Grader) -> None:
        """Use the limits of the grader's row, which was read again."""
        self._take_over(grader)

    def _take_over(self, grader: Grader) -> None:
        self._grader = grader
        self._pause = (grader.held_until, grader.held_reason) if grader.held_until else None

    def pause(self, now: datetime) -> tuple[datetime, str] | None:
        """Until when no call may be sent, and why; None if calls may be sent."""
        permit = (self._permit.pause_until, self._permit.pause_reason) if self._permit.pause_until else None
        return max((pause for pause in (self._pause, permit) if pause and pause[0] > now), default=None)

    def starved(self) -> bool:
        """Whether other workers have used every call for so long that this drain leaves the work to them."""
        return self.window == 0 and time.monotonic() - self._started > PATIENCE_S

    def take(self, count: int, now: datetime) -> int:
        """Take tokens for `count` completions. Return how many were granted; a long wait for more holds the grader."""
        if self._tokens_at is not None and now < self._tokens_at:
            return 0
        granted, next_at = self._guard.take(count, now=now)
        self._tokens_at = None if granted else next_at
        if not granted and next_at is not None and next_at - now > SOON:
            self._extend_pause(next_at, pauses.RATE_LIMITED)
        return granted

    @property
    def waits_for_tokens(self) -> bool:
        return self._tokens_at is not None

    def give_back(self, unused: int) -> None:
        """Return the tokens of completions that were not sent."""
        if unused > 0:
            self._guard.give_back(unused)

    def sent(self) -> int:
        """Count a call that is sent now, and return its number."""
        return self._guard.sent()

    def note(self, results: Mapping[str, object], number: int, items: int, *, batched: bool, now: datetime) -> None:
        """Note the results of a call for the next `report`. A 429 with Retry-After holds the grader for all workers."""
        failures = [result for result in results.values() if isinstance(result, Failure)]
        first = failures[0] if failures else None
        ok = len(failures) < items or not all(failure.trips for failure in failures)
        shrink = first is not None and items > 1 and (first.split or (batched and first.code == "timeout"))
        self._answers.append(CallReport(ok=ok, items=items, shrink=shrink, number=number))
        if first is not None and first.code == "rate_limited" and first.retry_after_s is not None:
            self._extend_pause(now + timedelta(seconds=first.retry_after_s), pauses.RATE_LIMITED)

    @property
    def has_failures(self) -> bool:
        """Whether an unreported failure may open the circuit; the drain reports it before it sends more calls."""
        return not all(answer.ok and not answer.shrink for answer in self._answers)

    def report(self, now: datetime) -> None:
        """Add the outcomes of the calls since the last report to the shared state."""
        if self._answers:
            answers, self._answers = self._answers, []
            self._permit = self._guard.note(answers, now=now) or self._permit

    def close(self) -> None:
        """Release this drain's share of the calls."""
        self._guard.close()

    def _extend_pause(self, until: datetime, reason: str) -> None:
        self._pause = max(self._pause or (until, reason), (until, reason))
        pauses.pause(self._grader.pk, until, reason)
