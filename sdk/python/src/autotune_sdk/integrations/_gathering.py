"""Combine single awaited items into requests for many.

Frameworks that score sample by sample await hundreds of them in one event loop at once. Items that arrive within
PAUSE_S share one request instead of hundreds, which the server holds as one waiting request.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from ..models.rewards import LiveReward
from .scoring import Item, MissingReward, Scorer

PAUSE_S = 0.01
MOST = 500  # items of one request


Queue = list[tuple[Item, "asyncio.Future[LiveReward]"]]


class Gathering:
    """Combines the items of one scorer, with a separate queue for each event loop."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, Queue] = WeakKeyDictionary()
        self._asking: set[asyncio.Task[None]] = set()  # a loop holds its tasks only by weak references

    async def reward(self, item: Item) -> LiveReward:
        """Return the reward of one item, perhaps without a value. Raises as `Scorer.score`, except MissingReward."""
        loop = asyncio.get_running_loop()
        queue = self._waiting.setdefault(loop, [])
        future: asyncio.Future[LiveReward] = loop.create_future()
        queue.append((item, future))
        if len(queue) == 1:
            loop.call_later(PAUSE_S, self._send, loop)
        elif len(queue) >= MOST:
            self._send(loop)
        return await future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        if queue := self._waiting.pop(loop, []):
            task = loop.create_task(self._ask(queue))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _ask(self, queue: Queue) -> None:
        try:
            rewards = (await self.scorer.score_async([item for item, _ in queue])).rewards
        except MissingReward as exc:
            rewards = list(exc.rewards)
        except Exception as exc:  # noqa: BLE001 - the waiting callers get it
            for _, future in queue:
                if not future.done():
                    future.set_exception(exc)
            return
        for (_, future), reward in zip(queue, rewards, strict=True):
            if not future.done():
                future.set_result(reward)
