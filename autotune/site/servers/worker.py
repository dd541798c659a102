"""Gunicorn's threaded worker, but safe against slow clients: a request takes a thread only once it has arrived.

Gunicorn gives a connection a thread at its first byte, so as many slow senders as there are threads block everybody
else. Here the loop that waits for connections also collects the head of each request, and its body up to
MAX_EARLY bytes, without a thread, and closes what has not arrived in time. Only some of the threads read the rest of
large bodies. At the limit of connections the loop closes quiet ones (`QuietConnections`) and goes on accepting, and it
never waits for a client that does not close its end.

`/api/v1/health` has a thread of its own, so that it answers while all others wait for the database. A worker that
stops closes its listening sockets first, so that new connections are refused at once.
"""

import errno
import select
import socket
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any, Final

from gunicorn import util
from gunicorn.workers.gthread import ThreadWorker

from autotune.core import garbage, memory
from autotune.site.servers.arriving import PartialRequest
from autotune.site.servers.quiet_connections import QuietConnections, open_file_limit
from autotune.site.servers.timed_socket import TimedSocket
from autotune.site.servers.web_connections import ClosingOrder, Connection, has_bytes, received

ARRIVE_S: Final = 15.0  # from the connection to the end of the head, and of a small body
MAX_WAITING_BYTES: Final = 64 * 2**20  # bytes of all requests that arrive in this process, until threads have them
PIECE: Final = 65_536
SHARE_OF_BODIES: Final = 4  # one thread in this many reads the rest of large bodies
SHARE_QUIET: Final = 4  # none is closed while fewer than one in this many are quiet
SHARE_CLOSED: Final = 32  # at the limit, one connection in this many is closed at once
MAX_DRAINED: Final = PIECE  # bytes that a client may send after the end
LINGER_S: Final = 2.0  # time for a client to read the end of its answer, once the connection is shut down
NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class PatientWorker(ThreadWorker):
    """`--worker-class autotune.site.servers.worker.PatientWorker`. With gunicorn's own TLS, it is the plain worker."""

    worker_connections: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keepalived_conns = ClosingOrder()
        self.max_keepalived = self.worker_connections  # at the limit, this class closes quiet connections instead
        self.arriving = ClosingOrder()
        self.bodies_waiting = ClosingOrder()  # large bodies, until a thread may read the rest
        self.lingering = ClosingOrder()
        self.bodies = 0  # large bodies that threads read
        self.max_bodies = max(1, self.cfg.threads // SHARE_OF_BODIES)
        self.waiting_bytes = 0  # bytes of requests that no thread has
        self.quiet: QuietConnections[Connection] = QuietConnections()
        self.health: ThreadPoolExecutor | None = None  # created after the fork

    def init_process(self) -> None:
        self.worker_connections = open_file_limit(self.worker_connections)
        super().init_process()

    def run(self) -> None:
        garbage.settle()
        memory.keep_large_blocks_apart()
        self.health = ThreadPoolExecutor(1, thread_name_prefix="health")
        super().run()
        self.health.shutdown(wait=False)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Switch accepting on or off. A worker that stops accepts what its sockets have queued, and closes them.

        Gunicorn leaves them open until the last request is answered, so they collect connections that nobody accepts.
        """
        super().set_accept_enabled(enabled)
        if self.alive:
            return
        for listener in self.sockets:
            waiting = select.poll()
            waiting.register(listener, select.POLLIN)
            while waiting.poll(0):
                self.accept(listener)
            listener.close()

    def accept(self, listener: socket.socket) -> None:
        try:
            sock, client = listener.accept()
        except OSError as exc:
            if exc.errno in NO_ROOM:
                self.log.warning("No connection can be accepted: %s", exc)
                self.worker_connections = max(1, self.nr_conns)
            elif exc.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        self.enqueue_req(Connection(self, sock, client, listener.getsockname()))

    def enqueue_req(self, conn: Connection) -> None:
        """Wait for the request of a new connection, or of one that has something to read."""
        self.quiet.discard(conn)
        if self.cfg.is_ssl:
            super().enqueue_req(conn)
            return
        conn.early = PartialRequest()
        if conn.parser is not None:  # which may have read ahead into this request
            conn.early.received += conn.parser.unreader.take_buffered()
        if conn.early.received and conn.early.is_enough():
            self.dispatch(conn)
        elif self.read_early(conn):
            self.keep_waiting(conn, self.arriving, ARRIVE_S)
            self.poller.register(conn.sock, EVENT_READ, partial(self.on_bytes, conn))

    def on_bytes(self, conn: Connection, _: socket.socket) -> None:
        if self.read_early(conn):
            self.count(conn)

    def read_early(self, conn: Connection) -> bool:
        """Read what has arrived. Return False if a thread now has the request, or the client has left."""
        assert conn.early is not None
        piece = received(conn.sock, PIECE)
        if piece is None:
            return True
        if not piece:
            self.give_up(conn)
            return False
        conn.early.received += piece
        if not conn.early.is_enough():
            return True
        self.leave(conn)
        self.dispatch(conn)
        return False

    def dispatch(self, conn: Connection) -> None:
        """Give the request to a thread. A partial request must wait while many threads read bodies."""
        if conn.early is not None and conn.early.is_partial:
            conn.may_send_more = True
            if self.bodies >= self.max_bodies:
                self.keep_waiting(conn, self.bodies_waiting, ARRIVE_S)
                return
            self.bodies += 1
            conn.reads_body = True
        elif self.health is not None and conn.early is not None and conn.early.is_health:
            self.answer_health(self.health, conn)
            return
        super().enqueue_req(conn)

    def answer_health(self, health: ThreadPoolExecutor, conn: Connection) -> None:
        """Give the request to the thread that answers only health checks."""

        def finish(future: Future[Any]) -> None:
            self.method_queue.defer(self.finish_request, conn, future)

        health.submit(self.handle, conn).add_done_callback(finish)

    def end_body(self, conn: Connection) -> None:
        """Note that no thread waits for this body any more, and let a thread read the next one."""
        if conn.reads_body:
            conn.reads_body = False
            self.bodies -= 1
        while self.bodies_waiting and self.bodies < self.max_bodies:
            following = self.bodies_waiting[0]
            self.leave(following)
            self.dispatch(following)

    def keep_waiting(self, conn: Connection, place: ClosingOrder, seconds: float) -> None:
        """Let the connection wait as a quiet one, and close it after `seconds`."""
        conn.timeout = time.monotonic() + seconds
        conn.place = place
        place.append(conn)
        self.quiet.add(conn, conn.address)
        self.count(conn)

    def count(self, conn: Connection) -> None:
        size = len(conn.early.received) if conn.early else 0
        self.waiting_bytes += size - conn.waiting_bytes
        conn.waiting_bytes = size

    def leave(self, conn: Connection) -> None:
        """Remove the connection from the queue of the loop in which it waits."""
        if conn.place is None:
            return
        conn.place.remove(conn)
        conn.place = None
        self.quiet.discard(conn)
        self.waiting_bytes -= conn.waiting_bytes
        conn.waiting_bytes = 0
        with suppress(KeyError):  # those of `bodies_waiting` are not listened to
            self.poller.unregister(conn.sock)

    def give_up(self, conn: Connection, error: type[Exception] | None = None, detail: str = "") -> None:
        """Close a connection of the loop; a client that has started a request gets `error` as its answer."""
        self.leave(conn)
        if error is not None and conn.early is not None and conn.early.received:
            with suppress(OSError):
                conn.sock.send(_refusals().closing_answer(error(detail)), socket.MSG_DONTWAIT)
        self.nr_conns -= 1
        conn.close()

    def linger(self, conn: Connection) -> None:
        """Close once the client has read its answer and closed its end, at the latest after LINGER_S.

        Only if it may still send: data for a closed socket would take the answer from a client that has not read it.
        """
        conn.early = None
        if not (conn.may_send_more or has_bytes(conn.sock)):
            util.close(conn.sock)
            return
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            util.close(conn.sock)
            return
        self.nr_conns += 1
        self.keep_waiting(conn, self.lingering, LINGER_S)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_lingering, conn))

    def on_lingering(self, conn: Connection, _: socket.socket) -> None:
        piece = received(conn.sock, PIECE)
        if piece is None:
            return
        conn.drained += len(piece)
        if not piece or conn.drained > MAX_DRAINED:
            self.give_up(conn)

    def handle(self, conn: Connection) -> Any:
        if self.cfg.is_ssl:
            return super().handle(conn)
        early, conn.early = conn.early or PartialRequest(), None
        conn.init()
        conn.data_ready = True
        conn.parser.unreader.unread(bytes(early.received))
        on_body = partial(self.method_queue.defer, self.end_body, conn) if conn.reads_body else None
        plain = conn.sock
        conn.sock = conn.parser.unreader.sock = TimedSocket(plain, unread=early.unread, on_body=on_body)
        try:
            return super().handle(conn)
        finally:
            conn.sock = conn.parser.unreader.sock = plain
            if early.length >= memory.LARGE:
                memory.release()

    def finish_request(self, conn: Connection, fs: Any) -> None:
        self.end_body(conn)
        super().finish_request(conn, fs)
        if conn in self.keepalived_conns:
            self.quiet.add(conn, conn.address)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer an error that never reaches Django in the same form as Django does."""
        error = _refusals().error_of(exc)
        if error is None:
            self.log.exception("Error handling request %s", getattr(req, "uri", "(no address read)"))
            error = _refusals().unexpected()
        else:
            self.log.warning("Invalid request from ip=%s: %s", addr[0] if addr else "", exc)
        with suppress(OSError):  # the client may have left
            client.send(_refusals().closing_answer(error), socket.MSG_DONTWAIT)

    def murder_pending(self) -> None:
        """Close what has not arrived in time, and what has no room. The loop calls this after each turn."""
        super().murder_pending()
        now = time.monotonic()
        for place in (self.arriving, self.bodies_waiting, self.lingering):
            while place and place[0].timeout <= now:
                self.give_up(place[0], *_refusals().LATE)
        # while most connections are busy, a new one would only wait for a thread, and soon fewer are busy
        if self.nr_conns >= self.worker_connections and len(self.quiet) >= self.worker_connections // SHARE_QUIET:
            for conn in self.quiet.to_close(max(1, self.worker_connections // SHARE_CLOSED)):
                self.close_quiet(conn)
        if self.waiting_bytes > MAX_WAITING_BYTES:
            self.drop_largest()

    def close_quiet(self, conn: Connection) -> None:
        """Close a quiet connection; if its client has just sent a request, answer it or close it later instead."""
        if conn not in self.keepalived_conns:
            self.give_up(conn, *_refusals().CROWDED)
        elif not has_bytes(conn.sock):
            self.keepalived_conns.remove(conn)
            self.poller.unregister(conn.sock)
            self.give_up(conn)

    def drop_largest(self) -> None:
        """Close the connections of the largest arriving requests until a quarter of MAX_WAITING_BYTES is free."""
        for conn in sorted((*self.arriving, *self.bodies_waiting), key=lambda waiting: -waiting.waiting_bytes):
            if self.waiting_bytes <= MAX_WAITING_BYTES * 3 // 4:
                return
            self.give_up(conn, *_refusals().CROWDED)


def _refusals() -> Any:
    from autotune.site.servers import refusals  # Django is not set up yet when the arbiter imports this

    return refusals
