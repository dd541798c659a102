"""Single awaited requests made requests of many.

Frameworks that score sample by sample await hundreds of them in one event loop at once. What comes within PAUSE_S is
asked for together: one request instead of hundreds, and one waiting place in the server.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from ..models_rewards import LiveReward
from .scoring import Item, MissingReward, Scorer

PAUSE_S = 0.01
MOST = 500  # items of one request


Queue = list[tuple[Item, "asyncio.Future[LiveReward]"]]


class Gathering:
    """Joins the requests to one scorer; for each event loop its own queue."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, Queue] = WeakKeyDictionary()
        self._asking: set[asyncio.Task[None]] = set()  # a loop keeps its tasks by weak references alone

    async def reward(self, item: Item) -> LiveReward:
        """The reward of one item, which may have no value. Raises what `Scorer.score` raises, MissingReward aside."""
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
        except Exception as exc:  # noqa: BLE001 - whoever waits gets it
            for _, future in queue:
                if not future.done():
                    future.set_exception(exc)
            return
        for (_, future), reward in zip(queue, rewards, strict=True):
            if not future.done():
                future.set_result(reward)
