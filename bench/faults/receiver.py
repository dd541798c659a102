#!/usr/bin/env python3
"""A receiver of webhooks that fails and hangs: `python -m bench.faults.receiver --port 9800 --journal FILE`.

Checks each signature by itself, and notes every delivery before it answers:
{"at": …, "event": "delivery", "request": webhook-id, "items": [completion], "kind": event, "data": {…}, "status": what it answers}
"""

import argparse
import asyncio
import base64
import hmac
import json
import random
import signal
from pathlib import Path

from stub_grader import Connection, header

from .journal import Writer

FAILS, HANGS = 0.30, 0.05
HEADERS = [header(name) for name in (b"webhook-id", b"webhook-timestamp", b"webhook-signature")]
HANGING, UNSIGNED = 0, 401


class Receiver:
    def __init__(self, journal: Path, seed: int) -> None:
        self.journal = Writer(journal)
        self.random = random.Random(seed)
        self.secret = b""

    def status(self, fields: list[bytes], body: bytes) -> int:
        """What it answers: most deliveries are taken, some fail, some hang."""
        identity, stamp, signatures = fields
        right = base64.b64encode(hmac.digest(self.secret, b"%b.%b.%b" % (identity, stamp, body), "sha256"))
        if b"v1," + right not in signatures.split(b" "):
            return UNSIGNED
        drawn = self.random.random()
        return 503 if drawn < FAILS else HANGING if drawn < FAILS + HANGS else 200


class ReceiverConnection(Connection):
    """The benchmark's HTTP parser; `stub` is our Receiver."""

    def handle(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"POST /control/"):
            self.stub.secret = base64.b64decode(json.loads(body)["secret"].removeprefix("whsec_"))
            self.send(200, {})
            return
        fields = [(find(head) or [b""])[0] for find in HEADERS]
        status, event = self.stub.status(fields, body), json.loads(body)
        items = [event["data"].get("completionId", "")]
        self.stub.journal.note(
            "delivery", "receiver", fields[0].decode(), items, kind=event["event"], data=event["data"], status=status
        )
        if status != HANGING:
            self.transport.write(b"HTTP/1.1 %d -\r\nContent-Length: 2\r\n\r\n{}" % status)


async def serve(a: argparse.Namespace) -> None:
    loop, receiver, stop = asyncio.get_running_loop(), Receiver(a.journal, a.seed), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(lambda: ReceiverConnection(receiver, loop), "127.0.0.1", a.port, backlog=1024)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(serve(parser.parse_args()))
