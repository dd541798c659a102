"""The connections of the web worker, and the queues in which they wait."""

import socket
from typing import Any, Protocol

from gunicorn.workers.gthread import TConn

from autotune.site.servers.arriving import PartialRequest
from autotune.site.servers.quiet_connections import QuietConnections


class ConnectionOwner(Protocol):
    """What a connection uses of the worker that has it."""

    cfg: Any
    quiet: "QuietConnections[Connection]"

    def linger(self, conn: "Connection") -> None:
        """Close the connection once the client has read its answer."""


class Connection(TConn):
    """A connection with the part of its request that has arrived, and the queue in which it waits."""

    def __init__(self, worker: ConnectionOwner, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(worker.cfg, sock, client, server)
        self.worker = worker
        self.address = client[0] if isinstance(client, tuple) else ""
        self.early: PartialRequest | None = None
        self.place: ClosingOrder | None = None
        self.waiting_bytes = 0  # counted in the worker's `waiting_bytes`
        self.reads_body = False  # counted in the worker's `bodies`
        self.may_send_more = False  # whether an answer may be sent before the whole request has arrived
        self.drained = 0  # bytes that arrived after the end of the last answer

    def close(self, graceful: bool = False) -> None:
        self.worker.quiet.discard(self)
        if graceful and not self.cfg.is_ssl:
            self.worker.linger(self)
        else:
            super().close(graceful)


class ClosingOrder(dict[Connection, None]):
    """Connections in the order in which they are closed. Unlike in gunicorn's deque, removal takes constant time."""

    def append(self, connection: Connection) -> None:
        self[connection] = None

    def remove(self, connection: Connection) -> None:
        del self[connection]

    def popleft(self) -> Connection:
        connection = self[0]
        del self[connection]
        return connection

    def __getitem__(self, index: Any) -> Any:
        """The first connection, whatever the index: callers use no other."""
        return next(iter(self))


def has_bytes(sock: socket.socket) -> bool:
    """Return whether the client has sent something that nobody has read yet."""
    try:
        return bool(sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False


def received(sock: socket.socket, limit: int) -> bytes | None:
    """Return what has arrived, at most `limit` bytes: b"" if the client has left, None if it has sent nothing yet."""
    try:
        return sock.recv(limit, socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""
