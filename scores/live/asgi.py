"""The `live` process: an ASGI application that serves only trainers' calls, of which thousands can wait at once.

A waiting call is a coroutine, so it needs neither a thread nor a database connection. A few threads do the blocking
work, each for a batch of calls.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse

from autotune.access.audit import trail
from autotune.access.audit.current_call import AuditedCall
from autotune.core import errors
from autotune.core.api import problems
from autotune.core.api.operations import read_query, require_json
from autotune.core.errors import AutotuneError
from scores.live import counting, facade
from scores.live.boundary import caught
from scores.live.endpoint_requests import CallQuery
from scores.live.facade import ProtocolCall
from scores.live.grouped import AT_ONCE, CallGroups
from scores.live.notes import RefusalNotes
from scores.live.room import BodyReceiver, CallCapacity, ClientLeft, Receive
from scores.results.waiting import hub

Send = Callable[[dict[str, Any]], Awaitable[None]]
Middleware = Callable[..., Any]  # a Django middleware class

PATH: Final = re.compile(r"/api/v1/rewards/([a-z]{1,16})/([^/]{1,200})")
HEALTH: Final = "/api/v1/health"
NOTHING: Final = "There is nothing at this address."


class LiveApplication:
    """The ASGI application. `passes` are the middleware classes that handle each call, outermost first. They reject a
    call by its headers only, and set the headers of the response."""

    def __init__(self, passes: Sequence[Middleware]) -> None:
        self._pool = ThreadPoolExecutor(2 * AT_ONCE, thread_name_prefix="live")
        self._begin = CallGroups(self._pool, _begin)
        self._finish = CallGroups(self._pool, _finish)
        self._note = RefusalNotes()
        self._room = CallCapacity()
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
        passed: HttpResponse | None = None
        rejections: list[AutotuneError] = []
        with caught(rejections.append):  # an unknown host, for one
            passed = self._passed(request)
        if passed is None:
            passed = problems.answer(rejections[0], request)
        response = passed
        if passed.status_code == PASSED:
            response = await self._counted_response(request, receive, arrived)
        elif request.path_info != HEALTH:
            await self._note(AuditedCall(request, trail.address_of(request)), response.status_code)
        await _send(send, response, dict(passed.items()))

    async def _counted_response(self, request: ASGIRequest, receive: Receive, arrived: float) -> HttpResponse:
        """Answer a call, and count it among those that this process holds until then."""
        event = AuditedCall(request, trail.address_of(request))
        arriving = BodyReceiver(receive, self._room)
        answer: bytes | AutotuneError = b""
        rejections: list[AutotuneError] = []
        with self._room.call():
            try:
                with caught(rejections.append):
                    answer = await self._answer(event, arriving, arrived)
                for error in rejections:
                    answer = error
                    await self._note(event, error.status, error.code)
            finally:
                arriving.leave()
        if isinstance(answer, AutotuneError):
            return problems.answer(answer, request)
        return HttpResponse(answer, content_type="application/json")

    async def _answer(self, event: AuditedCall, arriving: BodyReceiver, arrived: float) -> bytes | AutotuneError:
        """raises  AutotuneError before the call has started; later errors are returned, and are in the audit log"""
        request = event.request
        if request.path_info == HEALTH and request.method in ("GET", "HEAD"):
            return b'{"status":"ok"}'
        match = PATH.fullmatch(request.path_info)
        if match is None:
            raise errors.NotFound(NOTHING)
        if request.method != "POST":
            raise errors.MethodNotAllowed(f'Method "{request.method}" not allowed.', headers={"Allow": "POST"})
        with self._room.call_of(match[2]):
            query = read_query(request, CallQuery)
            require_json(request)
            peer = request.META.get("REMOTE_ADDR", "")
            ask = ProtocolCall(
                match[1], match[2], await arriving.body(), peer, query.reward_key, audited=event, arrived=arrived
            )
            await self._begin(ask)
            if not ask.raw:
                arriving.leave()
            if ask.error is None and ask.unfinished:
                await _wait(ask, arriving.receive)
            answer = await self._finish(ask)
        if ask.endpoint is None and isinstance(answer, AutotuneError):
            raise answer
        return answer


PASSED: Final = 204


def _passed(request: HttpRequest) -> HttpResponse:
    """The innermost handler of the middleware: it runs only if no middleware rejected the call."""
    request.get_host()  # raises for a host that is not allowed
    return HttpResponse(status=PASSED)


def _begin(asks: list[ProtocolCall]) -> Sequence[None]:
    facade.begin(asks)
    return [None] * len(asks)


def _finish(asks: list[ProtocolCall]) -> Sequence[bytes | AutotuneError]:
    """Return the answers. A rejection gets a separate audit event, since the event that was stored with the work says
    200. The event loop records calls that named no endpoint, so that clients that guess tokens do not occupy these
    threads."""
    answers = facade.finish(asks)
    for ask, answer in zip(asks, answers, strict=True):
        status, code = (answer.status, answer.code) if isinstance(answer, AutotuneError) else (200, "")
        if ask.endpoint is not None and ask.audited is not None and ask.audited.recorded != status:
            trail.noted(ask.audited, status, code)
    return answers


def _fold() -> None:
    try:
        counting.fold()
    finally:
        connection.close()


async def _wait(ask: ProtocolCall, receive: Receive) -> None:
    """Wait until all completions are final, or until the deadline.

    raises  ClientLeft
    """
    waiting = asyncio.ensure_future(hub.wait_all_async(ask.unfinished, ask.left_s(), sources=ask.sources))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientLeft
    finally:
        for future in (waiting, leaving):
            future.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, response: HttpResponse, headers: dict[str, str]) -> None:
    own_headers = {name: value for name, value in headers.items() if name not in ("Content-Type", "Content-Length")}
    all_headers = {**own_headers, **dict(response.items()), "Content-Length": str(len(response.content))}
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in all_headers.items()]
    with suppress(OSError):  # the client has left
        await send({"type": "http.response.start", "status": response.status_code, "headers": pairs})
        await send({"type": "http.response.body", "body": response.content})
