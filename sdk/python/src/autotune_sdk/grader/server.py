"""Serve a grader with the standard library: one thread for each connection, HTTP/1.1 with keep-alive."""

from __future__ import annotations

import logging
import re
import signal
import socket
import socketserver
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .handling import MAX_BODY, Answer, length_required, too_large
from .serving import ServedGrader

log = logging.getLogger(__name__)

IDLE_S = 75  # for a connection without a request, or a body that does not arrive
MAX_DISCARDED = 2 * MAX_BODY
LENGTH = re.compile(r"[0-9]{1,15}")
REASONS = {status.value: status.phrase for status in HTTPStatus}


class GraderServer(ThreadingHTTPServer):
    """An HTTP server for one grader. Port 0 chooses a free port; `url` contains it."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, grader: ServedGrader, host: str = "127.0.0.1", port: int = 9100) -> None:
        self.grader = grader
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), Handler)

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        """Return the address to register as the grader's endpoint."""
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"http://{host}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log any error except a broken connection."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("connection of %s failed", client_address)


class Handler(BaseHTTPRequestHandler):
    """Handles one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_S
    server: GraderServer

    def do_GET(self) -> None:
        """Handle any method; the grader decides which it accepts."""
        headers: list[tuple[str | bytes, str | bytes]] = [
            (name, value.strip(" \t").encode("latin-1", "replace")) for name, value in self.headers.items()
        ]
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True
            return self._send(length_required(self.server.grader.secrets, headers))
        lengths = self.headers.get_all("Content-Length") or ["0"]
        if len(set(lengths)) > 1 or not LENGTH.fullmatch(lengths[0].strip()):
            self.close_connection = True
            return self._send(length_required(self.server.grader.secrets, headers))
        length = int(lengths[0])
        if length > MAX_BODY:
            self._discard(length)
            return self._send(too_large(self.server.grader.secrets, headers))
        body = self.rfile.read(length) if length else b""
        if len(body) < length:
            self.close_connection = True
            return None
        return self._send(self.server.grader.handle(self.command, self.path, headers, body))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    def _send(self, answer: Answer) -> None:
        """Send head and body in one write."""
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in answer.headers]
        if self.close_connection:
            lines.append("Connection: close")
        head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        self.wfile.write(head if self.command == "HEAD" else head + answer.body)

    def _discard(self, length: int) -> None:
        """Discard a body that is too large, so that its sender sees the response; stop reading an endless one."""
        if length > MAX_DISCARDED:
            self.close_connection = True
            return
        while length > 0:
            piece = self.rfile.read(min(length, 1 << 16))
            if not piece:
                self.close_connection = True
                return
            length -= len(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for each request, since the item log has what matters."""


def serve(grader: ServedGrader, host: str = "127.0.0.1", port: int = 9100) -> None:
    """Serve until SIGINT or SIGTERM."""
    with GraderServer(grader, host, port) as server:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
        print(f"{grader.name} {grader.version} on {server.url}", file=sys.stderr, flush=True)
        server.serve_forever(poll_interval=0.2)
