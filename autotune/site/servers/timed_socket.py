"""A socket that limits how long it waits for its client, both to read a body and to write an answer."""

import errno
import select
import socket
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final

BODY_S: Final = 60.0  # for the rest of a large body, once a thread reads it
STALL_S: Final = 5.0  # how far a client may be behind MIN_RATE
MIN_RATE: Final = 16 * 1024  # bytes a second, in either direction
FILE_PIECE: Final = 256 * 1024


class TimedSocket:
    """The socket of one request. Only waiting counts, so a slow view costs the client nothing.

    unread   bytes of the body that have not arrived; None if that is unknown
    on_body  called once, by the thread that reads, when the whole body has arrived
    """

    def __init__(
        self, sock: socket.socket, *, unread: int | None = None, on_body: Callable[[], None] | None = None
    ) -> None:
        self._sock = sock
        self._timeout: float | None = None
        self._unread = unread
        self._on_body = on_body
        self._received = 0
        self._taken = 0  # bytes written since the first wait: earlier ones are in buffers, even if nobody reads
        self._waited_to_read = self._waited_to_write = 0.0

    def recv(self, size: int, flags: int = 0) -> bytes:
        """raises ConnectionResetError once the client is too slow: to gunicorn and Django it has left"""
        if flags:
            return self._sock.recv(size, flags)
        while True:
            try:
                piece = self._sock.recv(size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._wait_to_read()
            else:
                self._received += len(piece)
                if self._unread is not None and self._received >= self._unread and self._on_body is not None:
                    self._on_body()
                    self._on_body = None
                return piece

    def sendall(self, data: bytes) -> None:
        """raises ConnectionResetError once the client reads too slowly"""
        rest = memoryview(data)
        while rest:
            try:
                size = self._sock.send(rest, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._wait_to_write()
            else:
                self._taken += size if self._waited_to_write else 0
                rest = rest[size:]

    def sendfile(self, file: BinaryIO, offset: int = 0, count: int | None = None) -> int:
        """Like `sendfile` of `socket.socket`, in pieces that count towards the client's rate."""
        file.seek(offset)
        total = 0
        while piece := file.read(FILE_PIECE if count is None else min(FILE_PIECE, count - total)):
            self.sendall(piece)
            total += len(piece)
        return total

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, blocking: bool) -> None:
        """Ignored: reads and writes of this class do their own waiting."""

    def _wait_to_read(self) -> None:
        allowed = min(BODY_S, STALL_S + self._received / MIN_RATE) - self._waited_to_read
        if self._timeout is not None and self._timeout < allowed:
            if not self._wait(select.POLLIN, self._timeout)[0]:
                raise TimeoutError("timed out")
            return
        ready, waited_s = self._wait(select.POLLIN, allowed)
        self._waited_to_read += waited_s
        if not ready:
            raise ConnectionResetError(errno.ECONNRESET, "the request did not arrive in time")

    def _wait_to_write(self) -> None:
        ready, waited_s = self._wait(select.POLLOUT, STALL_S + self._taken / MIN_RATE - self._waited_to_write)
        self._waited_to_write += waited_s
        if not ready:
            raise ConnectionResetError(errno.ECONNRESET, "the client does not read its answer")

    def _wait(self, event: int, seconds: float) -> tuple[bool, float]:
        started_at = time.monotonic()
        poll = select.poll()
        poll.register(self._sock, event)
        ready = seconds > 0 and bool(poll.poll(seconds * 1000))
        return ready, time.monotonic() - started_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)
