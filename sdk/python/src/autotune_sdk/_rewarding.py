"""Asking for rewards at once: in requests that the API takes, again and again until all are final or the time is up.

Work that is not done when a request ends goes on in the server, and the same item joins it: so a reward that needs
minutes is asked for in rounds that no proxy cuts off, and a request whose answer was lost is simply sent again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from . import _wire
from ._batching import ITEM_POINTER
from ._transport import RETRYABLE, Transport
from .errors import APIError, AutotuneError, ConnectionFailed, FieldError, UnexpectedAnswer
from .models_rewards import LiveReward

MAX_ITEMS = 1_000
MAX_BODY = 32 * 1024 * 1024 - 4096  # less what stands around the items
ROUND_S = 30.0  # the server's own default
MARGIN_S = 0.5  # the server ends so much before the caller's time is up, so that its answer is heard
PAUSE_S = 1.0  # between two rounds that ended at once: the server's waiting places are taken
AT_ONCE = 4  # requests of one call


@dataclass(frozen=True)
class Question:
    """What all items of a call share. until: the moment (time.monotonic) at which the caller must have an answer."""

    head: Mapping[str, Any]
    fresh: bool
    until: float


def answers(transport: Transport, parts: Sequence[bytes], question: Question) -> list[LiveReward]:
    """The reward of each item, in order; what is not final when the time is up is 'pending'.

    raises  the error of a request, if none brought an answer
    """
    chunks = list(_split(parts))
    if len(chunks) < 2:
        return _Chunk(transport, parts, 0, question).run() if parts else []
    outcomes: list[list[LiveReward] | AutotuneError] = []
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="autotune-rewards") as pool:
        asked = [pool.submit(_Chunk(transport, parts[a:b], a, question).run) for a, b in chunks]
        for future in asked:
            try:
                outcomes.append(future.result())
            except AutotuneError as exc:
                outcomes.append(exc)
    refused = [one for one in outcomes if isinstance(one, AutotuneError)]
    if len(refused) == len(outcomes) or any(not is_passing(one) for one in refused):
        raise next((one for one in refused if not is_passing(one)), refused[0])
    out: list[LiveReward] = []
    for (first, end), one in zip(chunks, outcomes, strict=True):
        out += one if isinstance(one, list) else [LiveReward(None, None, None, "pending", one.code)] * (end - first)
    return out


def is_passing(error: AutotuneError) -> bool:
    """Whether the same request may well be answered later."""
    return isinstance(error, ConnectionFailed) or error.status in RETRYABLE or error.code == "conflict"


def _split(parts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """(first, end) of the items of each request."""
    first, size = 0, 0
    for at, part in enumerate(parts):
        if at > first and (at - first == MAX_ITEMS or size + len(part) + 1 > MAX_BODY):
            yield first, at
            first, size = at, 0
        size += len(part) + 1
    if len(parts) > first:
        yield first, len(parts)


class _Chunk:
    """The items of one request, and of the rounds after it that ask for those which are not final."""

    def __init__(self, transport: Transport, parts: Sequence[bytes], first: int, question: Question) -> None:
        self.transport, self.parts, self.first, self.question = transport, parts, first, question
        self.found: list[LiveReward | None] = [None] * len(parts)
        self.open = list(range(len(parts)))

    def run(self) -> list[LiveReward]:
        """The rewards in order. Raises the error of the first round; later ones leave what is known."""
        fresh = self.question.fresh
        while True:
            began = time.monotonic()
            try:
                self._round(fresh)
            except AutotuneError as exc:
                if None in self.found or not is_passing(exc):
                    raise
            fresh = False  # what was begun anew is joined from now on
            left = self.question.until - time.monotonic()
            if not self.open or left <= MARGIN_S:
                return [one for one in self.found if one is not None]
            if time.monotonic() - began < PAUSE_S:
                self.transport.sleep(min(PAUSE_S, left - MARGIN_S))

    def _round(self, fresh: bool) -> None:
        left = self.question.until - time.monotonic()
        wait_s = max(0.001, min(ROUND_S, left - min(MARGIN_S, left / 4)))
        head = {**self.question.head, "deadlineMs": max(1, int(wait_s * 1000)), **({"fresh": True} if fresh else {})}
        body = _wire.dumps(head)[:-1] + b',"items":[' + b",".join(self.parts[at] for at in self.open) + b"]}"
        try:
            answer = self.transport.post(
                "/rewards",
                body,
                safe=True,
                idempotency_key=str(uuid4()) if fresh else None,  # without one the answer is today's, not the first
                extra_s=wait_s,
                until=self.question.until,
            )
        except APIError as exc:
            exc.errors = tuple(self._placed(one) for one in exc.errors)
            raise
        rewards = answer.get("rewards") if isinstance(answer, dict) else None
        if not isinstance(rewards, list) or len(rewards) != len(self.open):
            raise UnexpectedAnswer(f"the answer does not hold {len(self.open)} rewards")
        for at, one in zip(self.open, rewards, strict=True):
            self.found[at] = _wire.decode(LiveReward, one)
        self.open = [at for at in self.open if not (one := self.found[at]) or not one.final]

    def _placed(self, error: FieldError) -> FieldError:
        """An error told by the item's place in the whole call."""
        found = ITEM_POINTER.match(error.pointer.removeprefix("/items"))
        if not error.pointer.startswith("/items/") or found is None or int(found[2]) >= len(self.open):
            return error
        place = self.first + self.open[int(found[2])]
        rest = error.pointer.removeprefix("/items")[found.end() :]
        return replace(error, pointer=f"/items/{place}{rest}", index=place)
