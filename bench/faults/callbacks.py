"""An asynchronous grader: it answers 202 and sends its result to the callback address, well, badly, and too often.

Each completion's way is decided by its id, so that a repeated call goes the same way:
  early    the callback is sent before the 202
  forged   a callback with a wrong signature goes ahead of the good one, and must be refused
  late     the callback comes after its deadline, which the scenario brings forward; a good one never comes
"""

import asyncio
import random
import time

import aiohttp
from common import dumps, sign, value_of

from .exchange import Exchange, Personality

TIMES_AT_ONCE = 3
EARLY, FORGED, LATE = 0.05, 0.10, 0.05
WORK_S = (0.05, 0.5)  # until the result is there
AGAIN_S = (0.2, 5.0)  # first wait after a 401, 429, 5xx or no answer, and the longest
PATIENCE_S = 300.0
AT_ONCE = 16  # results on their way at a time
STOP = {200, 409, 410, 404, 400, 413, 415, 422}


def draw(item: str, what: str) -> float:
    """A number from 0 to 1 that is always the same for a completion."""
    return value_of(item, what)


def is_late(item: str) -> bool:
    return draw(item, "late") < LATE


async def accept(x: Exchange) -> None:
    """202, and a callback for the whole call. Ways are those of its first completion."""
    x.who.memory.setdefault("pending", set())
    if "callbackUrl" not in x.content:
        x.answer_well()
        return
    sender = asyncio.get_running_loop().create_task(_call_back(x))
    x.who.memory["pending"].add(sender)
    sender.add_done_callback(x.who.memory["pending"].discard)
    if draw(x.items[0], "early") < EARLY:
        await asyncio.wait([sender], timeout=3)
    body = dumps({"requestId": x.request, "status": "accepted"})
    x.answer(body, status=202)


MODES = {"async": accept}


def idle(who: Personality) -> bool:
    """Whether no callback is under way."""
    return not who.memory.get("pending")


async def _call_back(x: Exchange) -> None:
    first = x.items[0]
    late = is_late(first) and not x.who.memory.get("none_late")
    if draw(first, "early") >= EARLY:
        await asyncio.sleep(random.uniform(*WORK_S))
    if late:
        while not x.who.memory.get("deadlines_passed"):
            await asyncio.sleep(0.1)
    while x.who.memory.get("hold"):  # the scenario keeps results back: days pass, a key is rotated
        await asyncio.sleep(0.1)
    async with x.who.memory.setdefault("room", asyncio.Semaphore(AT_ONCE)):
        await _deliver(x, late=late)


async def _deliver(x: Exchange, *, late: bool) -> None:
    body = dumps(x.good())
    timeout = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as http:
        if draw(x.items[0], "forged") < FORGED:
            await _send(x, http, body, "forged", key=b"atgs_forger_forger_forger_forger_forger_forger_forger")
        kind = "late" if late else "good"
        await asyncio.gather(*(_until_settled(x, http, body, kind) for _ in range(TIMES_AT_ONCE)))


async def _until_settled(x: Exchange, http: aiohttp.ClientSession, body: bytes, kind: str) -> None:
    """As the protocol asks of a grader: again after 401, 429, 5xx or nothing, until it must stop."""
    wait, end = AGAIN_S[0], time.monotonic() + PATIENCE_S
    while time.monotonic() < end and await _send(x, http, body, kind) not in STOP:
        await asyncio.sleep(wait * random.uniform(0.5, 1))
        wait = min(wait * 2, AGAIN_S[1])


async def _send(x: Exchange, http: aiohttp.ClientSession, body: bytes, kind: str, *, key: bytes | None = None) -> int:
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-Autotune-Timestamp": stamp,
        "X-Autotune-Request-Id": x.request,
        "X-Autotune-Signature": sign(key or x.who.keys[0], stamp.encode(), x.request.encode(), body),
    }
    status, code = 0, ""
    try:
        async with http.post(
            x.content["callbackUrl"].replace("localhost", "127.0.0.1"), data=body, headers=headers
        ) as answer:
            status = answer.status
            reply = await answer.json(content_type=None)
            code = str(reply.get("code", reply.get("status", ""))) if isinstance(reply, dict) else ""
    except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
        code = type(exc).__name__
    x.who.journal.note("callback", x.who.name, x.request, x.items, kind=kind, status=status, code=code)
    return status
