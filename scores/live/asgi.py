"""The process `live`: an ASGI application for the calls of trainers alone, of which thousands wait at once.

A waiting call is a coroutine here, so it costs neither a thread nor a connection. What blocks is done by a few threads
for as many calls as have come meanwhile.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse

from autotune.access.audit import trail
from autotune.access.audit.calls import Call
from autotune.core import errors, problems
from autotune.core.api import read_query, require_json
from autotune.core.errors import AutotuneError
from scores.live import counting, facade
from scores.live.endpoint_inputs import CallQuery
from scores.live.facade import Ask
from scores.live.grouped import AT_ONCE, Grouped
from scores.live.unscored import TooManyWaiting
from scores.waiting import hub

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Middleware = Callable[..., Any]  # a class of Django's kind

PATH: Final = re.compile(r"/api/v1/rewards/([a-z]{1,16})/([^/]{1,200})")
HEALTH: Final = "/api/v1/health"
BODY_S: Final = 60.0  # from the head of a call to the end of its body
NOTHING: Final = "There is nothing at this address."


class ClientLeft(Exception):
    """Nobody reads an answer."""


class Arriving:
    """The body of a call. `octets` of it are here: a length that is only promised takes nobody's room."""

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.octets = 0

    async def body(self) -> bytes:
        """All of it, whose length BodyMiddleware has judged.

        raises  ClientLeft; Invalid for one that does not arrive
        """
        pieces = []
        try:
            async with asyncio.timeout(BODY_S):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientLeft
                    pieces.append(message.get("body", b""))
                    self.octets += len(pieces[-1])
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError as exc:
            raise errors.Invalid("The body did not arrive in time.", headers={"Connection": "close"}) from exc


class Live:
    """The application. `passes` are the middleware classes that a call passes, the outermost first; they refuse a call
    by its head alone, and give the answer its headers."""

    def __init__(self, passes: Sequence[Middleware]) -> None:
        self._pool = ThreadPoolExecutor(2 * AT_ONCE, thread_name_prefix="live")
        self._begin = Grouped(self._pool, _begin)
        self._finish = Grouped(self._pool, _finish)
        self._calls = 0
        self._bodies: set[Arriving] = set()
        self._passed: Callable[[HttpRequest], HttpResponse] = _passed
        for middleware in reversed(passes):
            self._passed = middleware(self._passed)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            with suppress(ClientLeft):
                await self._respond(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(_fold)
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})

    async def _respond(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        arrived = time.monotonic()
        request = ASGIRequest(scope, BytesIO())
        try:
            passed = self._passed(request)
        except Exception as exc:  # noqa: BLE001 - an unknown host, for one
            passed = problems.answer(problems.typed(exc) or errors.Invalid("The request is malformed."), request)
        response = passed
        if passed.status_code == PASSED:
            response = await self._held(request, receive, arrived)
        elif request.path_info != HEALTH:
            await self._note(Call(request, trail.address_of(request)), response.status_code)
        await _send(send, response, dict(passed.items()))

    async def _held(self, request: ASGIRequest, receive: Receive, arrived: float) -> HttpResponse:
        """The answer, while the call counts among those that this process holds."""
        event = Call(request, trail.address_of(request))
        arriving = Arriving(receive)
        self._calls += 1
        self._bodies.add(arriving)
        try:
            answer = await self._answer(event, arriving, arrived)
        except AutotuneError as exc:
            answer = exc
            await self._note(event, exc.status, exc.code)
        finally:
            self._calls -= 1
            self._bodies.discard(arriving)
        if isinstance(answer, AutotuneError):
            return problems.answer(answer, request)
        return HttpResponse(answer, content_type="application/json")

    def _octets(self) -> int:
        return sum(body.octets for body in self._bodies)

    async def _note(self, event: Call, status: int, code: str = "") -> None:
        """Leave an event of a call that was refused before it was begun."""
        await asyncio.get_running_loop().run_in_executor(self._pool, _note, event, status, code)

    async def _answer(self, event: Call, arriving: "Arriving", arrived: float) -> bytes | AutotuneError:
        """raises  AutotuneError before the call is begun; after that errors are returned, and on record"""
        request = event.request
        if request.path_info == HEALTH and request.method in ("GET", "HEAD"):
            return b'{"status":"ok"}'
        match = PATH.fullmatch(request.path_info)
        if match is None:
            raise errors.NotFound(NOTHING)
        if request.method != "POST":
            raise errors.MethodNotAllowed(f'Method "{request.method}" not allowed.', headers={"Allow": "POST"})
        if self._calls > settings.LIVE_MAX_CALLS or self._octets() > settings.LIVE_MAX_BYTES:
            raise TooManyWaiting
        query = read_query(request, CallQuery)
        require_json(request)
        address = request.META.get("REMOTE_ADDR", "")
        ask = Ask(match[1], match[2], await arriving.body(), address, query.reward_key, audited=event, arrived=arrived)
        await self._begin(ask)
        self._bodies.discard(arriving)  # only what a protocol repeats is kept
        if ask.error is None and ask.unfinished:
            await _wait(ask, arriving.receive)
        return await self._finish(ask)


PASSED: Final = 204


def _passed(request: HttpRequest) -> HttpResponse:
    """Stands for the view within the middleware: nothing was refused."""
    request.get_host()  # raises for one that is not ours
    return HttpResponse(status=PASSED)


def _begin(asks: list[Ask]) -> Sequence[None]:
    facade.begin(asks)
    return [None] * len(asks)


def _finish(asks: list[Ask]) -> Sequence[bytes | AutotuneError]:
    """The answers. A refusal is an event of its own: the one that was written with the work says 200."""
    answers = facade.finish(asks)
    for ask, answer in zip(asks, answers, strict=True):
        status, code = (answer.status, answer.code) if isinstance(answer, AutotuneError) else (200, "")
        if ask.audited is not None and ask.audited.recorded != status:
            trail.noted(ask.audited, status, code)
    return answers


def _note(event: Call, status: int, code: str) -> None:
    try:
        trail.noted(event, status, code)
    finally:
        connection.close()


def _fold() -> None:
    try:
        counting.fold()
    finally:
        connection.close()


async def _wait(ask: Ask, receive: Receive) -> None:
    """Until all is final, or the deadline.

    raises  ClientLeft
    """
    waiting = asyncio.ensure_future(hub.wait_all_async(ask.unfinished, ask.left_s()))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientLeft
    finally:
        for one in (waiting, leaving):
            one.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, response: HttpResponse, headers: dict[str, str]) -> None:
    kept = {name: value for name, value in headers.items() if name not in ("Content-Type", "Content-Length")}
    told = {**kept, **dict(response.items()), "Content-Length": str(len(response.content))}
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
    with suppress(OSError):  # the client has left
        await send({"type": "http.response.start", "status": response.status_code, "headers": pairs})
        await send({"type": "http.response.body", "body": response.content})
