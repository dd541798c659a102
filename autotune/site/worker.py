"""Gunicorn's threaded worker, but for slow clients: a request takes a thread when it has arrived, not when it begins.

Gunicorn gives a thread to a connection with its first octet, so that as many slow senders as there are threads keep
everybody else out. Here the loop that waits for connections also collects the head of each request, and its body up to
MAX_EARLY octets, without a thread, and closes what has not arrived in time.
"""

import errno
import re
import socket
import time
from collections import deque
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any, Final

from gunicorn import util
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.workers.gthread import TConn, ThreadWorker

from autotune.core import garbage

ARRIVE_S: Final = 15.0  # from the connection to the end of the head, and of a small body
BODY_S: Final = 60.0  # for the rest of a large body, once a thread reads it
MAX_EARLY: Final = 256 * 1024
MAX_BODY: Final = 32 * 2**20  # more is refused by its length
PIECE: Final = 65_536
_END: Final = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,19})[ \t]*\r\n", re.IGNORECASE)

_EXPECTS = re.compile(rb"\r\nexpect:", re.IGNORECASE)


class Arriving:
    """What has come of a request so far."""

    __slots__ = ("needed", "octets")

    def __init__(self) -> None:
        self.octets = bytearray()
        self.needed: int | None = None  # octets of head and body, known once the head is whole

    def is_enough(self) -> bool:
        """Whether a thread may take it: it is whole, or large enough that its sender means it."""
        if self.needed is None:
            end = self.octets.find(_END)
            if end < 0:
                return len(self.octets) >= MAX_EARLY
            self.needed = end + len(_END) + self._body(end + 2)
        return len(self.octets) >= min(self.needed, MAX_EARLY)

    def _body(self, end: int) -> int:
        """Octets of the body that are on their way. None are where the sender may wait for an answer first."""
        length = _LENGTH.search(self.octets, 0, end)
        octets = int(length[1]) if length else 0
        return 0 if octets > MAX_BODY or _EXPECTS.search(self.octets, 0, end) else octets


class Timed:
    """A socket to read from until a moment, however slowly the octets drip."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._until = time.monotonic() + BODY_S

    def recv(self, size: int) -> bytes:
        """raises ConnectionResetError once the time is up: to gunicorn and Django the client has left"""
        left = self._until - time.monotonic()
        if left <= 0:
            raise ConnectionResetError(errno.ECONNRESET, "the request did not arrive in time")
        self._sock.settimeout(left)
        try:
            return self._sock.recv(size)
        except TimeoutError as exc:
            raise ConnectionResetError(errno.ECONNRESET, "the request did not arrive in time") from exc
        finally:
            self._sock.settimeout(None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class PatientWorker(ThreadWorker):
    """`--worker-class autotune.site.worker.PatientWorker`. With TLS of gunicorn's own it is the plain worker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arriving: deque[Any] = deque()  # connections by the moment when they are given up

    def run(self) -> None:
        garbage.settle()
        super().run()

    def enqueue_req(self, conn: Any) -> None:
        """A new connection, or one that has something to read: wait for its request."""
        if self.cfg.is_ssl or getattr(conn, "early", None) is not None or _is_buffered(conn):
            super().enqueue_req(conn)
            return
        conn.early = Arriving()
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + ARRIVE_S
        self.arriving.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_octets, conn))
        self.on_octets(conn, conn.sock)

    def on_octets(self, conn: Any, client: socket.socket) -> None:
        try:
            piece = client.recv(PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if not piece:
            self.leave(conn)
            self.nr_conns -= 1
            conn.close()
            return
        conn.early.octets += piece
        if conn.early.is_enough():
            self.leave(conn)
            super().enqueue_req(conn)

    def leave(self, conn: Any) -> None:
        """Out of the loop's hands."""
        self.poller.unregister(conn.sock)
        self.arriving.remove(conn)

    def handle(self, conn: Any) -> Any:
        if not self.cfg.is_ssl:
            early, conn.early = getattr(conn, "early", None), None
            conn.sock.setblocking(True)
            conn.init()
            if early is not None:
                conn.data_ready = True
                conn.parser.unreader.unread(bytes(early.octets))
            conn.parser.unreader.sock = Timed(conn.sock)
        return super().handle(conn)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """What is too long for the server never reaches Django, and is refused in the same form as by it."""
        refusal = _refusal(exc)
        if refusal is None:
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Invalid request from ip=%s: %s", addr[0] if addr else "", exc)
        with suppress(OSError):  # who sent it may have left
            util.write_nonblock(client, refusal)

    def murder_pending(self) -> None:
        super().murder_pending()
        now = time.monotonic()
        while self.arriving and self.arriving[0].timeout <= now:
            conn = self.arriving[0]
            self.leave(conn)
            self.nr_conns -= 1
            conn.close()


def _refusal(exc: BaseException) -> bytes | None:
    """The whole answer to a request that is too long; None for another fault."""
    from autotune.core import errors, problems  # Django is not set up yet when the arbiter imports this

    error: errors.AutotuneError
    if isinstance(exc, LimitRequestLine):
        error = errors.AddressTooLong("Path and query are longer than the server reads. Shorten or drop a filter.")
    elif isinstance(exc, LimitRequestHeaders):
        error = errors.HeadersTooLarge("A header is longer than the server reads, or there are more than it reads.")
    else:
        return None
    answer = problems.answer(error, None)
    headers = {"Connection": "close", "Content-Length": len(answer.content), **dict(answer.items())}
    lines = [f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.content


def _is_buffered(conn: TConn) -> bool:
    """Whether the parser has read ahead into the next request already."""
    return conn.parser is not None and bool(conn.parser.unreader.buf.getvalue())
