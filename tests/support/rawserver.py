"""A server on a bare socket that sends any bytes a test chooses, for graders that break the rules of HTTP."""

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from django.test import override_settings

from autotune.core.outbound.addresses import parse_allow
from graders.gateway.signing import sign
from tests.factories import SECRET

CRLF = b"\r\n"


@dataclass
class Request:
    """One request as it came. `headers` by lower-case name."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self):
        return self.headers["x-autotune-request-id"]

    @property
    def items(self):
        parsed = json.loads(self.body)
        return [item["id"] for item in parsed.get("completions") or [parsed["completion"]]]


class Connection:
    """What a behaviour answers with. Writing ends without an error when the other side has hung up."""

    def __init__(self, sock, closing):
        self.sock, self.closing = sock, closing

    def write(self, *parts):
        self.sock.sendall(b"".join(parts))

    def answer(self, body=b"", *, status="200 OK", headers=()):
        """A whole answer with a Content-Length, and then the end of the connection."""
        self.write(head(status, [*headers, ("Content-Length", len(body))]), body)

    def drip(self, content, *, every_s=0.05):
        """Send one byte at a time until the other side disconnects."""
        for byte in content:
            self.write(bytes([byte]))
            if self.closing.wait(every_s):
                return

    def flood(self, piece):
        """Send the same bytes endlessly; return how many were accepted."""
        taken = 0
        with suppress(OSError):
            while not self.closing.is_set():
                taken += self.sock.send(piece)
        return taken

    def silence(self):
        """Nothing, until the other side hangs up."""
        self.sock.settimeout(0.05)
        while not self.closing.is_set():
            with suppress(TimeoutError):
                if not self.sock.recv(1):
                    return


def head(status, headers=()):
    """A status line and headers, `Content-Type: application/json` unless given."""
    lines = [("Content-Type", "application/json")] if "content-type" not in {n.lower() for n, _ in headers} else []
    text = "".join(f"{name}: {value}\r\n" for name, value in [*lines, *headers])
    return f"HTTP/1.1 {status}\r\n{text}\r\n".encode("latin-1")


def signature(request, body, *, secret=SECRET, offset_s=0, request_id=None):
    """The two headers of a signed answer; `offset_s` from now."""
    moment = str(int(time.time()) + offset_s)
    return [
        ("X-Autotune-Response-Timestamp", moment),
        ("X-Autotune-Response-Signature", sign(secret, moment, request_id or request.id, body)),
    ]


def result(request, score=None, **members):
    """The body of an answer to a single call or a batch, with the same score for each item."""
    score = {"value": 0.5, "confidence": 0.5} if score is None else score
    if request.path == "/score":
        return json.dumps({"requestId": request.id, "score": score, **members}).encode()
    entries = [{"completionId": item, "score": score} for item in request.items]
    return json.dumps({"requestId": request.id, "scores": entries, **members}).encode()


@contextmanager
def raw_server(behave):
    """Serve `behave(connection, request)` on a free port, to which outbound calls are allowed; gives the server.

    `requests` lists what came. A connection ends with its first answer.
    """
    server = RawServer(behave)
    try:
        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_GRADERS=parse_allow(f"127.0.0.1/32:{server.port}")):
            yield server
    finally:
        server.close()


class RawServer:
    def __init__(self, behave):
        self.behave, self.requests, self.closing = behave, [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.closing.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with sock, suppress(OSError):
            sock.settimeout(10)
            request = _read(sock)
            self.requests.append(request)
            self.behave(Connection(sock, self.closing), request)


def _read(sock):
    content = b""
    while CRLF * 2 not in content:
        content += sock.recv(65536)
    text, _, body = content.partition(CRLF * 2)
    first, *lines = text.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += sock.recv(65536)
    return Request(first.split()[1], headers, body)
