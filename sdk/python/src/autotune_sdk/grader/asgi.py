"""Serve a grader with any ASGI server, without a framework. Scoring runs in threads; the loop only moves bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

from .handling import MAX_BODY, Answer, too_large
from .serving import ServedGrader

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def application(grader: ServedGrader) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    """Return a plain coroutine function, since some servers mistake a bound method for the older, two-step ASGI."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await run(grader, scope, receive, send)

    return app


async def run(grader: ServedGrader, scope: Message, receive: Receive, send: Send) -> None:
    """Handle one ASGI scope: a request, or the server's lifespan."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
    elif scope["type"] == "http":
        try:
            body = await _read(receive)
        except Disconnected:
            return
        headers = list(scope["headers"])
        if body is None:
            answer = too_large(grader.secrets, headers)
        else:
            loop = asyncio.get_running_loop()
            call = partial(grader.handle, scope["method"], scope["path"], headers, body)
            answer = await loop.run_in_executor(grader.pool, call)
        await _send(answer, scope["method"], send)
    else:
        raise ValueError(f"unknown ASGI scope {scope['type']!r}")


class Disconnected(Exception):
    """The client closed the connection."""


async def _read(receive: Receive) -> bytes | None:
    """Return the body; None if it is over 32 MiB (it is then read to its end and dropped)."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MAX_BODY:
            parts.append(piece)
        else:
            parts.clear()
        if not message.get("more_body", False) or size > 2 * MAX_BODY:
            return b"".join(parts) if size <= MAX_BODY else None


async def _send(answer: Answer, method: str, send: Send) -> None:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return
