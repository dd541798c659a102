"""The pool of PostgreSQL connections of one process, which returns only connections that work.

psycopg's pool hands out dead connections too. After a lost connection it retries after 1, 2, 4, 8 … seconds, up to
minutes, however soon the database is back. This pool differs:

- A connection that was idle for a second, or since the last loss of any, must answer before the pool hands it out. For
  a busy one the pool only checks its socket, without a round trip.
- A connection to a read-only server or standby lives for a second, so that the pool notices a writable one.
- If no connection is left and none can be opened, the database is away (`outage.py`): callers are refused at once, and
  one thread retries four times a second until it is back.
"""

import logging
import select
import time
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from autotune.core.postgresql.outage import DatabaseAway, DatabaseOutage

logger = logging.getLogger(__name__)
IDLE_S: Final = 1.0  # a connection that was unused for this long is checked
READ_ONLY_S: Final = 1.0  # lifetime of a connection that cannot write
CHECK_S: Final = 1.0  # timeout of a check
NOTICE_S: Final = 1.0  # after this wait for a connection, the caller checks whether the database is there
WRITES_REFUSED: Final = (b"default_transaction_read_only", b"in_hot_standby")  # reported by PostgreSQL 14 and later


class PooledConnection(psycopg.Connection[Any]):
    """A connection that knows its age and its last use (monotonic seconds)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connected_at = self.used_at = time.monotonic()

    @property
    def is_read_only(self) -> bool:
        """Whether the server refuses writes, by its last report in this session: no round trip."""
        return any(self.pgconn.parameter_status(name) == b"on" for name in WRITES_REFUSED)


class ResilientPool(ConnectionPool[PooledConnection]):
    """A `ConnectionPool` that opens at its first use; `outage` shows whether the database is away."""

    def __init__(self, *, kwargs: dict[str, Any], **options: Any) -> None:
        super().__init__(
            kwargs=kwargs,
            connection_class=PooledConnection,
            open=False,
            # No retries for a single connection: a failed one leaves the pool, and the next caller opens another.
            reconnect_timeout=0.0,
            reconnect_failed=self._on_connect_failed,
            **options,
        )
        self._lost_at = 0.0
        self.outage = DatabaseOutage(
            lambda: psycopg.Connection.connect(**kwargs),
            on_start=self._on_outage,
            on_end=self._on_return,
            is_over=lambda: self.closed,
        )

    def getconn(self, timeout: float | None = None) -> PooledConnection:
        """Return a connection that works.

        raises  DatabaseAway at once or within a moment while the database is away, PoolTimeout where all are in use
        """
        waiting_since = time.monotonic()
        deadline = waiting_since + (self.timeout if timeout is None else timeout)
        while True:
            if self.outage.is_on:
                self.outage.wait_for_return(waiting_since)
            try:
                conn = self._next(deadline)
            except DatabaseAway:  # the database went away while we waited; it may be back in a moment
                continue
            if self._works(conn):
                return conn
            conn.close()
            super().putconn(conn)  # which replaces it

    def putconn(self, conn: PooledConnection) -> None:
        """Return a connection to the pool; a broken one makes every other one suspect."""
        now = time.monotonic()
        if conn.closed:
            self._lost_at = now
        else:
            conn.used_at = now
        super().putconn(conn)

    def _next(self, deadline: float) -> PooledConnection:
        """Return a connection in any state. A caller queues again once, after NOTICE_S, and then keeps its place."""
        left_s = deadline - time.monotonic()
        try:
            return super().getconn(min(NOTICE_S, left_s))
        except PoolTimeout:
            if left_s <= NOTICE_S:
                raise
        if not self.outage.check():
            raise DatabaseAway("the database is away")
        return super().getconn(deadline - time.monotonic())

    def _works(self, conn: PooledConnection) -> bool:
        """Whether the pool may hand the connection out."""
        now = time.monotonic()
        if conn.is_read_only and now - conn.connected_at > READ_ONLY_S:
            return False
        is_suspect = now - conn.used_at > IDLE_S or conn.used_at <= self._lost_at
        if not is_suspect and not _has_input(conn, 0.0):
            return True
        try:
            works = _answers(conn)
        except TimeoutError:
            works = False
            if self.outage.check():  # the server is there, but this connection is dead: so will the others be
                self.drain()
        if not works:
            self._lost_at = time.monotonic()
        return works

    def _on_connect_failed(self, _: ConnectionPool[Any]) -> None:
        """psycopg calls this after a failed attempt to connect. While other ones work, the database is not away."""
        if self.get_stats()["pool_size"] == 0:
            self.outage.start("no connection is left, and none can be made")

    def _on_outage(self) -> None:
        """Distrust every connection, and wake all waiting callers like the pool's `close()`: there is no public way."""
        self._lost_at = time.monotonic()
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        for client in waiting:
            client.fail(DatabaseAway("the database is away"))

    def _on_return(self) -> None:
        self._lost_at = time.monotonic()


def _answers(conn: PooledConnection) -> bool:
    """Make one round trip with an empty statement, over libpq: psycopg's own `execute` has no timeout.

    raises  TimeoutError after CHECK_S
    """
    pgconn = conn.pgconn
    deadline = time.monotonic() + CHECK_S
    try:
        pgconn.send_query(b"")
        pgconn.flush()
        pgconn.consume_input()
        while pgconn.is_busy():
            if not _has_input(conn, deadline - time.monotonic()):
                raise TimeoutError
            pgconn.consume_input()
        while pgconn.get_result() is not None:
            pass
    except (psycopg.Error, OSError) as exc:
        if isinstance(exc, TimeoutError):
            raise
        return False
    return pgconn.transaction_status == TransactionStatus.IDLE


def _has_input(conn: PooledConnection, seconds: float) -> bool:
    """Whether the server has sent something, or has closed the connection, waiting at most `seconds`."""
    poller = select.poll()
    poller.register(conn.fileno(), select.POLLIN)
    return bool(poller.poll(max(0.0, seconds) * 1000))
