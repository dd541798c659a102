"""A receiver of webhooks at the network edge: a real HTTP server on loopback that can misbehave on request."""

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from django.test import override_settings
from standardwebhooks.webhooks import Webhook as Standard

from autotune.core.outbound.addresses import parse_allow
from tests.support.fakes import Server


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict
    body: bytes

    @property
    def id(self):
        return self.headers["webhook-id"]

    def verified(self, secret):
        """The payload, checked as any receiver would."""
        return Standard(secret).verify(self.body, self.headers)


class Receiver:
    """Answers 204. `script` is a list of functions, called for one request each before that: (request) -> status, or
    (status, body), or (status, body, headers). `gate` cleared: hangs until it is set."""

    def __init__(self, answer=lambda request: 204):
        self.answer, self.script, self.received = answer, [], []
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def reply(self, request):
        with self.lock:
            self.received.append(request)
            step = self.script.pop(0) if self.script else self.answer
        self.gate.wait(20)
        answer = step(request)
        return answer if isinstance(answer, tuple) else (answer,)


@contextmanager
def receiving(*receivers):
    """Serve the receivers on free ports of loopback, to which outbound calls are allowed within the block."""
    servers = [_serve(receiver) for receiver in receivers]
    ports = ",".join(f"127.0.0.1/32:{receiver.port}" for receiver in receivers)
    try:
        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS=parse_allow(ports)):
            yield receivers[0] if len(receivers) == 1 else receivers
    finally:
        for receiver, server in zip(receivers, servers, strict=True):
            receiver.gate.set()
            server.shutdown()
            server.server_close()


def _serve(receiver):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, *more = receiver.reply(Received(self.path, headers, body))
            answer = more[0] if more else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            for name, value in (more[1] if len(more) > 1 else {}).items():
                self.send_header(name, value)
            with suppress(OSError):  # a client that stopped waiting has left
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *args):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server
