"""Limit the calls and the bytes that a `live` process holds, and receive the bodies of its calls."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings

from autotune.core import errors
from autotune.core.api import problems
from scores.live.unscored import TooManyWaiting

Receive = Callable[[], Awaitable[dict[str, Any]]]
BODY_S: Final = 60.0  # from the head of a call to the end of its body
STALL_S: Final = 10.0  # how far a client may fall behind MIN_RATE
MIN_RATE: Final = 16 * 1024  # bytes a second
SHARES: Final = 4  # one address takes at most this part of the calls, so that others find room
CLOSE: Final = {"Connection": "close"}  # the rest of the body is not read


class ClientLeft(Exception):
    """The client has closed its connection."""


class CallCapacity:
    """Counts the calls of a process, also by address, and the bytes of their bodies. It belongs to one event loop."""

    def __init__(self) -> None:
        self.calls = 0
        self.byte_count = 0
        self.of_address: Counter[str] = Counter()

    @contextmanager
    def call(self) -> Iterator[None]:
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1

    @contextmanager
    def call_of(self, address: str) -> Iterator[None]:
        """Count a call by its address; raises TooManyWaiting if there is no room for it."""
        if self.calls > settings.LIVE_MAX_CALLS or self.byte_count > settings.LIVE_MAX_BYTES:
            raise TooManyWaiting
        if self.of_address[address] >= max(1, settings.LIVE_MAX_CALLS // SHARES):
            raise TooManyWaiting
        self.of_address[address] += 1
        try:
            yield
        finally:
            self.of_address[address] -= 1
            if not self.of_address[address]:
                del self.of_address[address]


class BodyReceiver:
    """Receives the body of a call. Only bytes that have arrived (`byte_count`) take room, not the announced length."""

    def __init__(self, receive: Receive, room: CallCapacity) -> None:
        self.receive = receive
        self.byte_count = 0
        self._room = room

    async def body(self) -> bytes:
        """Receive and return the whole body.

        raises  ClientLeft; Invalid for one that does not arrive, TooLarge, TooManyWaiting where there is no room
        """
        pieces = []
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(BODY_S, STALL_S)) as limit:
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientLeft
                    pieces.append(message.get("body", b""))
                    self._grow(len(pieces[-1]))
                    if not message.get("more_body"):
                        return b"".join(pieces)
                    limit.reschedule(began + min(BODY_S, STALL_S + self.byte_count / MIN_RATE))
        except TimeoutError as exc:
            raise errors.Invalid("The body did not arrive in time.", headers=CLOSE) from exc

    def _grow(self, size: int) -> None:
        self.byte_count += size
        self._room.byte_count += size
        if self.byte_count > settings.MAX_BODY_BYTES:  # whatever length its headers announced
            error = problems.too_large()
            error.headers |= CLOSE
            raise error
        if self._room.byte_count > settings.LIVE_MAX_BYTES:
            raise TooManyWaiting(closes=True)

    def leave(self) -> None:
        """Release the room that the body takes. Safe to call more than once."""
        self._room.byte_count -= self.byte_count
        self.byte_count = 0
