#!/usr/bin/env python3
"""Graders of the harness: one process, several graders by path, a journal of every call and answer.

python -m bench.faults.grader --port 9700 --journal FILE

POST /control/NAME {...}   members of a personality (exchange.py): mode, latency_ms, max_batch, ...; `secret` is added
GET  /control/NAME         {"calls": ...}
...  /g/NAME/health, /g/NAME/score, /g/NAME/score/batch
"""

import argparse
import asyncio
import signal
import time
from pathlib import Path
from urllib.parse import unquote

from common import dumps, loads, sign
from stub_grader import SIGNED, Connection, check

from . import callbacks, misbehaviour
from .exchange import Exchange, Personality
from .journal import Writer

SETTABLE = {"mode", "latency_ms", "max_batch", "supports_async"}


class Graders:
    def __init__(self, journal: Path) -> None:
        self.journal = Writer(journal)
        self.all: dict[str, Personality] = {}
        self.tasks: set[asyncio.Task] = set()
        self.modes = misbehaviour.MODES | callbacks.MODES

    def named(self, name: str) -> Personality:
        return self.all.setdefault(name, Personality(name, self.journal))

    def control(self, name: str, body: bytes) -> tuple[int, dict]:
        who = self.named(name)
        for member, value in (loads(body) if body else {}).items():
            if member == "secret":
                who.keys.insert(0, value.encode())
            elif member == "forget":
                who.keys = who.keys[:1]
            elif member in SETTABLE:
                setattr(who, member, value)
            else:
                who.memory[member] = value
        return 200, {"calls": who.calls, "peak": who.peak, "idle": callbacks.idle(who)}

    def begin(self, x: Exchange) -> None:
        """Answer in the grader's way, after its latency."""
        task = asyncio.get_running_loop().create_task(self._answer(x))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, x: Exchange) -> None:
        x.who.out += 1
        x.who.peak = max(x.who.peak, x.who.out)
        if x.who.latency_ms:
            await asyncio.sleep(x.who.latency_ms / 1000)
        x.who.out -= 1
        await self.modes[x.who.mode](x)


class GraderConnection(Connection):
    """The benchmark's HTTP parser; `stub` is our Graders."""

    def handle(self, head: bytes, body: bytes) -> None:
        path = unquote(head.split(b" ", 2)[1].decode("latin-1"))
        if path.startswith("/control/"):
            self.send(*self.stub.control(path.removeprefix("/control/"), body))
            return
        _, _, name, place = path.split("/", 3)
        who = self.stub.named(name)
        fields = [find(head) for find in SIGNED]
        request = (fields[1] or [b""])[0].decode("latin-1")
        why, key = check(who.keys, who.replays, time.time(), fields, body)
        if why:
            who.journal.note("refused", name, request, why=why)
            self._reply(401, {"error": why}, key or (who.keys or [b"-"])[0], request)
        elif place == "health":
            self._reply(200, who.health(), who.keys[0], request)
        else:
            self._score(who, place, request, fields, body)

    def _score(self, who: Personality, place: str, request: str, fields: list, body: bytes) -> None:
        x = Exchange(who, self.transport, place.encode(), request, fields[2][0], loads(body))
        who.calls += 1
        who.memory["sent_at"], who.memory["body"] = fields[0][0], body
        who.journal.note("call", who.name, request, x.items)
        if len(x.items) > who.max_batch:
            self._reply(413, {"requestId": request, "error": f"more than {who.max_batch}"}, who.keys[0], request)
        else:
            self.stub.begin(x)

    def _reply(self, status: int, out: dict, key: bytes, request: str) -> None:
        body, stamp = dumps(out), b"%d" % time.time()
        signature = sign(key, stamp, request.encode(), body).encode()
        self.transport.write(
            b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
            b"X-Autotune-Response-Timestamp: %b\r\nX-Autotune-Response-Signature: %b\r\n\r\n%b"
            % (status, len(body), stamp, signature, body)
        )


async def serve(a: argparse.Namespace) -> None:
    loop, graders, stop = asyncio.get_running_loop(), Graders(a.journal), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(lambda: GraderConnection(graders, loop), "127.0.0.1", a.port, backlog=4096)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    asyncio.run(serve(parser.parse_args()))
