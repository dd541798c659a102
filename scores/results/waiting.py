"""Wait for final scores without a busy loop and without holding a database connection.

The hub of a process looks up all waiting completions in one query, and wakes the callers that wait for them: threads
and coroutines. A completion that waits for a copy of another's scores (scores/engine/copies.py) gets it
here as soon as the other is final. A waiting thread releases its connection; at most LONG_POLL_MAX_WAITERS
threads wait, and further callers get the current state. Coroutines hold neither: their server limits them.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import Error, connection

from autotune.core.background import BackgroundLoop
from autotune.core.connections import release
from scores.engine import copies
from scores.models import Reward

logger = logging.getLogger(__name__)
EVERY_S: Final = 0.04
SLOWLY_S: Final = 0.25  # once everybody has waited for a while
SLOW_AFTER_S: Final = 3.0
ASKED_AT_ONCE: Final = 5_000  # ids of one query: the embedded engine takes 32,766
CHECK_EVERY_S: Final = 1.0  # how often a waiting thread checks that its client is still there
LEISURE: Final = 3  # a pause lasts at least this many times as long as the queries took
PAUSE_MOST_S: Final = 1.0
NO_SOURCES: Final[Mapping[UUID, UUID]] = {}


def _nobody() -> bool:
    """Nobody has left."""
    return False


@dataclass(eq=False, slots=True)
class _Waiter:
    """A caller that waits until all of `missing` are final. The hub's thread calls `wake` once.

    sources  for those of `missing` that wait for a copy: the completion that graders judge
    """

    missing: set[UUID]
    wake: Callable[[], object]
    sources: Mapping[UUID, UUID] = field(default_factory=dict)
    final: set[UUID] = field(default_factory=set)


class WaitingHub:
    """The waiters of this process, by completion."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may end a waiting coroutine while this thread has it
        self._waiting: dict[UUID, set[_Waiter]] = {}
        self._sources: dict[UUID, UUID] = {}  # source by waiting copy, until the source is final
        self._count = 0  # of waiting threads
        self._newest = 0.0
        self._loop = BackgroundLoop(
            "score-hub", self._pass, action="waiting for scores", logger=logger, retry_s=SLOWLY_S, keeps_connection=True
        )

    def wait(self, completion_id: UUID, seconds: float, *, gone: Callable[[], bool] = _nobody) -> bool:
        """Wait until a completion is final; True if it is. See `wait_all`."""
        return bool(self.wait_all((completion_id,), seconds, gone=gone))

    def wait_all(
        self,
        completion_ids: Iterable[UUID],
        seconds: float,
        *,
        sources: Mapping[UUID, UUID] = NO_SOURCES,
        gone: Callable[[], bool] = _nobody,
    ) -> set[UUID]:
        """Wait until all are final, at most `seconds`, and not at all when too many threads wait already.

        sources  for those that wait for a copy: the completion that graders judge
        gone     whether the client has left; called about once a second
        returns  those that are final by then
        """
        missing = set(completion_ids)
        if seconds <= 0 or not missing:
            return set()
        done = threading.Event()
        with self._lock:
            if self._count >= settings.LONG_POLL_MAX_WAITERS:
                return set()
            self._count += 1
        try:
            with self._entered(_Waiter(missing, done.set, sources)) as waiter:
                release()
                end = time.monotonic() + seconds
                while (
                    not done.wait(min(CHECK_EVERY_S, end - time.monotonic())) and time.monotonic() < end and not gone()
                ):
                    pass
                return self._final_of(waiter)
        finally:
            with self._lock:
                self._count -= 1

    async def wait_all_async(
        self, completion_ids: Iterable[UUID], seconds: float, *, sources: Mapping[UUID, UUID] = NO_SOURCES
    ) -> set[UUID]:
        """Wait like `wait_all`, in a coroutine. Any number may wait, and a cancelled one leaves nothing behind."""
        missing = set(completion_ids)
        if seconds <= 0 or not missing:
            return set()
        done = asyncio.Event()
        wake = partial(_call_soon, asyncio.get_running_loop(), done.set)
        with self._entered(_Waiter(missing, wake, sources)) as waiter:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await done.wait()
            return self._final_of(waiter)

    @contextmanager
    def _entered(self, waiter: _Waiter) -> Iterator[_Waiter]:
        completion_ids = tuple(waiter.missing)
        with self._lock:
            self._newest = time.monotonic()
            for completion_id in completion_ids:
                self._waiting.setdefault(completion_id, set()).add(waiter)
            self._sources.update(waiter.sources)
        self._loop.wake()
        try:
            yield waiter
        finally:
            with self._lock:
                for completion_id in waiter.missing:
                    waiters = self._waiting.get(completion_id, set())
                    waiters.discard(waiter)
                    if not waiters:
                        self._waiting.pop(completion_id, None)
                        self._sources.pop(completion_id, None)

    def _final_of(self, waiter: _Waiter) -> set[UUID]:
        with self._lock:
            return set(waiter.final)

    def _pass(self) -> float | None:
        """Wake those whose scores are final. Return the pause until the next pass, which a new waiter ends."""
        with self._lock:
            completion_ids, sources = list(self._waiting), dict(self._sources)
        if not completion_ids:
            return None
        started = time.monotonic()
        self._report_final(_final_among(completion_ids))
        if sources:
            self._copy(sources)
        time.sleep(min(max(EVERY_S, LEISURE * (time.monotonic() - started)), PAUSE_MOST_S))
        with self._lock:
            return SLOWLY_S - EVERY_S if time.monotonic() - self._newest > SLOW_AFTER_S else 0.0

    def _copy(self, sources: Mapping[UUID, UUID]) -> None:
        """End the copies whose sources are final. The hub tries each once; the sweep handles the rest."""
        final = _final_among(list(set(sources.values())))
        ready = {completion_id: source for completion_id, source in sources.items() if source in final}
        if not ready:
            return
        with self._lock:
            for completion_id in ready:
                self._sources.pop(completion_id, None)
        self._report_final(_end_copies(ready))

    def _report_final(self, final: Iterable[UUID]) -> None:
        with self._lock:
            for completion_id in final:
                for waiter in self._waiting.pop(completion_id, ()):
                    waiter.missing.discard(completion_id)
                    waiter.final.add(completion_id)
                    if not waiter.missing:
                        waiter.wake()


def _final_among(completion_ids: Sequence[UUID]) -> set[UUID]:
    """The completions that have a reward."""
    final: set[UUID] = set()
    for start in range(0, len(completion_ids), ASKED_AT_ONCE):
        batch = completion_ids[start : start + ASKED_AT_ONCE]
        final.update(Reward.objects.filter(pk__in=batch).values_list("pk", flat=True))
    return final


def _end_copies(ready: Mapping[UUID, UUID]) -> set[UUID]:
    """Store the copies whose sources are final, and return the completions that now have scores."""
    try:
        return {ended.completion_id for ended in copies.end(ready) if ended.is_final}
    except Error as exc:
        logger.warning("waiting: copies cannot be stored: %s", exc)
        connection.close()
        return set()


def _call_soon(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(wake)


hub = WaitingHub()
