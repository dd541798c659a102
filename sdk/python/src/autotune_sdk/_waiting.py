"""Wait for the scores of many completions with few requests.

The list of completions cannot be filtered by ids, and one request per id costs the server more than scoring. So
`ScoreWait` takes the ids in order of age (they sort by time), 500 at a time: a long poll on the newest of the 500,
which is about the last to be scored; then one page of `GET /completions` for the span of time in which the 500 were
made, which gives status and reward of all of them. It requests what a page does not show by id, and completions
that are late again at the end. It does not rely on complete pages or on the order of scoring, only on each id's status.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Protocol

from .errors import WaitTimeout
from .models.completions import Completion
from .models.pages import Page
from .models.scores import Outcome, ScoreResult, WaitingFor

CHUNK = 500  # ids requested together
FEW = 4  # up to this many, ids are requested one by one
POLL_S = 5.0  # one long poll; short, so that progress shows
MAX_POLL_S = 25.0  # one long poll for a single completion
PAUSE_S = 1.0  # between two requests that showed nothing new
PAGE = 1000
WASTED_ROWS = 2000  # rows to read, if less than a tenth is useful, before a span is abandoned
INSTANT = timedelta(milliseconds=1)


class CompletionReader(Protocol):
    """The requests that a wait sends, as `client.completions` offers them."""

    def score(self, completion_id: str, wait_s: float = 0) -> ScoreResult:
        """Return a completion's result; the server may hold the request for `wait_s` seconds."""

    def get(self, completion_id: str) -> Completion:
        """Return one completion."""

    def list(
        self,
        *,
        task_id: str | None = None,
        start_date: datetime | None = None,
        end_date: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Completion]:
        """Return one page of completions."""


def wait_for_score(api: CompletionReader, completion_id: str, timeout_s: float | None) -> ScoreResult:
    """Wait for the final result of one completion. Raises WaitTimeout."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        began = time.monotonic()
        remaining_s = MAX_POLL_S if deadline is None else max(0.0, deadline - began)
        result = api.score(completion_id, min(remaining_s, MAX_POLL_S))
        if result.final:
            return result
        if deadline is not None and time.monotonic() >= deadline:
            raise WaitTimeout({}, [completion_id], {completion_id: result.waiting_for} if result.waiting_for else {})
        if time.monotonic() - began < PAUSE_S:  # a server that cannot hold more waiting requests responds at once
            time.sleep(PAUSE_S if deadline is None else min(PAUSE_S, max(0.0, deadline - time.monotonic())))


class ScoreWait:
    """One wait for a set of completions.

    on_completion  called with each completion that a page showed, final and in the set (its text comes for free)
    """

    def __init__(
        self,
        api: CompletionReader,
        ids: Iterable[str],
        timeout_s: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_completion: Callable[[Completion], None] | None = None,
    ) -> None:
        self.api, self.order = api, list(dict.fromkeys(ids))
        self.deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self.on_progress, self.on_completion = on_progress, on_completion
        self.outcomes: dict[str, Outcome] = {}
        self.reasons: dict[str, WaitingFor] = {}  # only of completions that were queried by id
        self.pending = sorted(self.order)
        self.origins: dict[str, tuple[datetime, str]] = {}  # creation time and task id, of completions already seen

    def run(self) -> dict[str, Outcome]:
        """Return outcomes by id, in the requested order. Raises WaitTimeout."""
        late: list[str] = []
        while self.pending or late:
            if not self.pending:
                self.pending, late = late, []
            chunk = self.pending[:CHUNK]
            before, began = len(self.outcomes), time.monotonic()
            self._ask(chunk[-1], POLL_S)
            if len(chunk) <= FEW:
                self._ask_each(chunk[:-1])
            else:
                self._sweep(chunk)
            if chunk[-1] in self.outcomes:  # completions missing from this chunk are late
                late += [i for i in chunk if i not in self.outcomes]
                self.pending = self.pending[len(chunk) :]
            else:
                self.pending = [i for i in self.pending if i not in self.outcomes]
            if self.pending or late:
                self._check_deadline()
                if len(self.outcomes) - before < max(1, len(chunk) // 10) and time.monotonic() - began < PAUSE_S:
                    time.sleep(min(PAUSE_S, self._remaining_s()))
        return {i: self.outcomes[i] for i in self.order}

    def _remaining_s(self) -> float:
        return MAX_POLL_S if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def _check_deadline(self) -> None:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise WaitTimeout(self.outcomes, [i for i in self.order if i not in self.outcomes], self.reasons)

    def _ask(self, completion_id: str, wait_s: float = 0) -> None:
        if completion_id not in self.outcomes:
            result = self.api.score(completion_id, min(wait_s, self._remaining_s()))
            if result.waiting_for:
                self.reasons[completion_id] = result.waiting_for
            self._record(Outcome(result.completion_id, result.status, result.reward))

    def _ask_each(self, ids: Iterable[str]) -> None:
        for completion_id in ids:
            self._check_deadline()
            self._ask(completion_id)

    def _record(self, outcome: Outcome) -> None:
        if outcome.final and outcome.completion_id not in self.outcomes:
            self.outcomes[outcome.completion_id] = outcome
            if self.on_progress:
                self.on_progress(len(self.outcomes), len(self.order))

    def _sweep(self, chunk: list[str]) -> None:
        """Read the span of time in which the chunk was created, then request what it did not show."""
        missing = {i for i in chunk if i not in self.outcomes}
        if len(missing) > FEW:
            missing -= self._read_span(missing)
        self._ask_each(i for i in chunk if i in missing)

    def _read_span(self, ids: set[str]) -> set[str]:
        """Return those of `ids` that the list showed, final or not."""
        (first, task_id), (last, _) = self._origin(min(ids)), self._origin(max(ids))
        start, end = min(first, last) - INSTANT, max(first, last) + 2 * INSTANT
        seen: set[str] = set()
        rows, cursor = 0, None
        while True:
            self._check_deadline()
            page = self.api.list(task_id=task_id, start_date=start, end_date=end, limit=PAGE, cursor=cursor)
            for completion in page.items:
                if completion.id in ids:
                    seen.add(completion.id)
                    self._take(completion)
            rows, cursor = rows + len(page), page.next_cursor
            if cursor is None or len(seen) == len(ids) or (rows >= WASTED_ROWS and len(seen) * 10 < rows):
                return seen

    def _origin(self, completion_id: str) -> tuple[datetime, str]:
        if completion_id not in self.origins:
            completion = self.api.get(completion_id)
            self.origins[completion_id] = (completion.created_at, completion.task_id)
        return self.origins[completion_id]

    def _take(self, completion: Completion) -> None:
        self.origins[completion.id] = (completion.created_at, completion.task_id)
        outcome = Outcome(completion.id, completion.status, completion.reward)
        if outcome.final and self.on_completion:
            self.on_completion(completion)
        self._record(outcome)
