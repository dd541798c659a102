"""Run the blocking work of many calls in batches, in the threads of the `live` process."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from django.db import connection

from scores.live.facade import ProtocolCall

T = TypeVar("T")
MAX_GROUP: Final = 250  # calls
MAX_GROUP_BYTES: Final = 8 * 2**20
AT_ONCE: Final = 2  # groups of each kind: more would only wait for each other


class CallGroups(Generic[T]):
    """Runs a blocking function over groups of calls in threads. While these are busy, the next group fills up."""

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[list[ProtocolCall]], Sequence[T]]) -> None:
        self._pool, self._work = pool, work
        self._pending: deque[tuple[ProtocolCall, asyncio.Future[T]]] = deque()
        self._busy = 0

    async def __call__(self, ask: ProtocolCall) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending.append((ask, future))
        self._go_on()
        return await future

    def _go_on(self) -> None:
        while self._pending and self._busy < AT_ONCE:
            group: list[tuple[ProtocolCall, asyncio.Future[T]]] = []
            group_bytes = 0
            while self._pending and len(group) < MAX_GROUP and group_bytes <= MAX_GROUP_BYTES:
                group.append(self._pending.popleft())
                group_bytes += len(group[-1][0].raw)
            self._busy += 1
            done = asyncio.get_running_loop().run_in_executor(self._pool, self._done, [ask for ask, _ in group])
            done.add_done_callback(lambda result, group=group: self._deliver(result, group))  # type: ignore[misc]

    def _done(self, asks: list[ProtocolCall]) -> Sequence[T]:
        try:
            return self._work(asks)
        finally:
            connection.close()

    def _deliver(
        self, result: "asyncio.Future[Sequence[T]]", group: list[tuple[ProtocolCall, "asyncio.Future[T]"]]
    ) -> None:
        self._busy -= 1
        self._go_on()
        failure = result.exception()
        for at, (_, future) in enumerate(group):
            if future.done():  # cancelled: its client has left
                continue
            if failure is not None:
                future.set_exception(failure)
            else:
                future.set_result(result.result()[at])
