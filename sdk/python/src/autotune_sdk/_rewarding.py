"""Request live rewards, split to the API's limits and repeated until all are final or the time is up.

The server continues unfinished work after a request ends, and the same item joins that work. So the client requests a
reward that takes minutes in rounds that no proxy cuts off, and repeats a request whose response was lost.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from . import _wire
from ._batching import ITEM_POINTER
from ._transport import Transport, is_passing
from .errors import APIError, AutotuneError, FieldError, UnexpectedAnswer
from .models.rewards import LiveReward

MAX_ITEMS = 1_000
MAX_BODY = 32 * 1024 * 1024 - 4096  # minus the JSON around the items
ROUND_S = 30.0  # the server's own default
MARGIN_S = 0.5  # the server ends this long before the caller's time is up, so that its response arrives
PAUSE_S = 1.0  # between two rounds that ended at once because the server cannot hold more waiting requests
MIN_WAIT_S = 0.001
AT_ONCE = 32  # parallel requests of one call, and connections that are kept open


@dataclass(frozen=True)
class Question:
    """Settings of a call that all items share. until: when (time.monotonic) the caller must have a result."""

    head: Mapping[str, Any]
    fresh: bool
    until: float


def answers(transport: Transport, parts: Sequence[bytes], question: Question) -> list[LiveReward]:
    """Return the reward of each item, in order; an item that is not final when the time is up is 'pending'.

    raises  the error of a request, if no request got a response, or if waiting does not fix it
    """
    spans = list(_split(parts))
    if not spans:
        return []
    threads = min(len(spans), AT_ONCE)
    turns = math.ceil(len(spans) / threads)
    chunks = [_Chunk(transport, parts[first:end], first, question, turns) for first, end in spans]
    queue = deque(chunks)
    if threads == 1:
        _ask_all(queue, chunks)
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="autotune-rewards") as pool:
            for done in [pool.submit(_ask_all, queue, chunks) for _ in range(threads)]:
                done.result()
    refusals = [chunk.refusal for chunk in chunks if chunk.refusal is not None]
    if len(refusals) == len(chunks) or any(not is_passing(error) for error in refusals):
        raise next((error for error in refusals if not is_passing(error)), refusals[0])
    return [reward for chunk in chunks for reward in chunk.rewards()]


def _ask_all(queue: deque[_Chunk], chunks: Sequence[_Chunk]) -> None:
    """Process queued requests until none is left; a request that must be repeated goes to the end of the queue.

    An error that waiting does not fix ends the whole call, so that its caller can use the remaining time.
    """
    while queue and not any(other.refusal is not None and not is_passing(other.refusal) for other in chunks):
        try:
            chunk = queue.popleft()
        except IndexError:  # another thread was faster
            return
        if chunk.ask():
            queue.append(chunk)


def _split(parts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of the items of each request."""
    first, size = 0, 0
    for at, part in enumerate(parts):
        if at > first and (at - first == MAX_ITEMS or size + len(part) + 1 > MAX_BODY):
            yield first, at
            first, size = at, 0
        size += len(part) + 1
    if len(parts) > first:
        yield first, len(parts)


class _Chunk:
    """The items of one request, and of the later rounds that request those which are not final.

    turns    how many requests share a thread, and so the remaining time
    refusal  the error that ended it, without any reward so far, or because waiting does not fix it
    """

    def __init__(
        self, transport: Transport, parts: Sequence[bytes], first: int, question: Question, turns: int
    ) -> None:
        self.transport, self.parts, self.first, self.question, self.turns = transport, parts, first, question, turns
        self.latest_rewards: list[LiveReward | None] = [None] * len(parts)
        self.open = list(range(len(parts)))
        self.answered = False
        self.refusal: AutotuneError | None = None
        self._not_before = -math.inf
        self._fresh: tuple[bytes, str] | None = None

    def rewards(self) -> list[LiveReward]:
        """Return one reward for each item, in order."""
        code = self.refusal.code if self.refusal else None
        return [reward or LiveReward(None, None, None, "pending", code) for reward in self.latest_rewards]

    def ask(self) -> bool:
        """Run one round; return whether there is reason and time for another.

        A temporary failure only costs time: it ends the rounds only if the server asks to wait for longer than is left.
        """
        until = self.question.until
        now = time.monotonic()
        if (pause := min(self._not_before, until - MARGIN_S) - now) > 0:
            self.transport.sleep(pause)
        self._not_before = time.monotonic() + PAUSE_S
        error: AutotuneError | None = None
        try:
            self._round()
        except AutotuneError as exc:
            if not is_passing(exc):
                self.refusal = exc
                return False
            error = exc
        if not self.open:
            return False
        remaining_s = until - time.monotonic()
        retry_after_s = getattr(error, "retry_after_s", None) or 0.0
        if remaining_s > MARGIN_S and (self.answered or retry_after_s < remaining_s):
            return True
        if not self.answered:
            self.refusal = error
        return False

    def _round(self) -> None:
        began = time.monotonic()
        share = (self.question.until - began) / self.turns
        wait_s = max(MIN_WAIT_S, min(ROUND_S, share - min(MARGIN_S, share / 4)))
        if self.turns > 1 and not self.answered:
            wait_s = MIN_WAIT_S  # send all of them first, so that the server works on all
        body, key = self._request(wait_s)
        try:
            answer = self.transport.post(
                "/rewards", body, safe=True, idempotency_key=key, extra_s=wait_s, until=began + share
            )
        except APIError as exc:
            exc.errors = tuple(self._placed(error) for error in exc.errors)
            raise
        rewards = answer.get("rewards") if isinstance(answer, dict) else None
        if not isinstance(rewards, list) or len(rewards) != len(self.open):
            raise UnexpectedAnswer(f"the response does not contain {len(self.open)} rewards")
        for position, reward in zip(self.open, [_wire.decode(LiveReward, row) for row in rewards], strict=True):
            self.latest_rewards[position] = reward
        self.answered = True
        self.open = [index for index in self.open if not ((latest := self.latest_rewards[index]) and latest.final)]

    def _request(self, wait_s: float) -> tuple[bytes, str | None]:
        """Return the body, and the key of a body that scores again: it stays the same until there is a response.

        Without a key the response is current, not the first one; later rounds join the work that has started.
        """
        fresh = self.question.fresh and not self.answered
        if fresh and self._fresh:
            return self._fresh
        head = {**self.question.head, "deadlineMs": max(1, int(wait_s * 1000)), **({"fresh": True} if fresh else {})}
        body = _wire.dumps(head)[:-1] + b',"items":[' + b",".join(self.parts[index] for index in self.open) + b"]}"
        if not fresh:
            return body, None
        self._fresh = body, str(uuid4())
        return self._fresh

    def _placed(self, error: FieldError) -> FieldError:
        """Return the error with the item's index in the whole call."""
        match = ITEM_POINTER.match(error.pointer.removeprefix("/items"))
        if not error.pointer.startswith("/items/") or match is None or int(match[2]) >= len(self.open):
            return error
        place = self.first + self.open[int(match[2])]
        rest = error.pointer.removeprefix("/items")[match.end() :]
        return replace(error, pointer=f"/items/{place}{rest}", index=place)
