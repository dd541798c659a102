"""The connections of one process to PostgreSQL: only working ones are handed out, and nobody waits in vain.

psycopg's pool hands out whatever it keeps, dead or alive. After a lost connection it tries again after 1, 2, 4, 8 …
seconds, up to minutes, however soon the database is back. Here:

- a connection that was idle for a second, or since the last loss of any, has to answer before it is handed out; a busy
  one costs a look at its socket, which is no round trip;
- a connection to a read-only server or standby lives for a second, so that a return to a writable one is noticed;
- where no connection is left and none can be made, the database is away (`outage.py`): callers are refused at once, and
  one thread tries four times a second until it is back.
"""

import logging
import select
import time
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from autotune.core.postgresql.outage import DatabaseAway, Outage

logger = logging.getLogger(__name__)
IDLE_S: Final = 1.0  # without use for so long, a connection is checked
READ_ONLY_S: Final = 1.0  # a connection that cannot write lives so long
CHECK_S: Final = 1.0  # the answer to a check may take so long
NOTICE_S: Final = 1.0  # who waits longer than this for a connection has somebody look whether the database is there
WRITES_REFUSED: Final = (b"default_transaction_read_only", b"in_hot_standby")  # reported by PostgreSQL 14 and later


class PooledConnection(psycopg.Connection[Any]):
    """A connection that knows its age and its last use (monotonic seconds)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connected_at = self.used_at = time.monotonic()

    @property
    def is_read_only(self) -> bool:
        """Whether the server refuses writes, as it said at the start of the session or since then: no round trip."""
        return any(self.pgconn.parameter_status(name) == b"on" for name in WRITES_REFUSED)


class ResilientPool(ConnectionPool[PooledConnection]):
    """`ConnectionPool`, open at its first use. `outage` says whether the database is away."""

    def __init__(self, *, kwargs: dict[str, Any], **options: Any) -> None:
        super().__init__(
            kwargs=kwargs,
            connection_class=PooledConnection,
            open=False,
            # No second chances for a single connection: what fails leaves the pool, and the next caller makes another.
            reconnect_timeout=0.0,
            reconnect_failed=self._on_connect_failed,
            **options,
        )
        self._lost_at = 0.0
        self.outage = Outage(
            lambda: psycopg.Connection.connect(**kwargs),
            begun=self._on_outage,
            ended=self._on_return,
            is_over=lambda: self.closed,
        )

    def getconn(self, timeout: float | None = None) -> PooledConnection:
        """A connection that works.

        raises  DatabaseAway at once or within a moment while the database is away, PoolTimeout where all are in use
        """
        asked_at = time.monotonic()
        deadline = asked_at + (self.timeout if timeout is None else timeout)
        while True:
            self.outage.wait_for_return(asked_at)
            try:
                conn = self._next(deadline)
            except DatabaseAway:  # it left while we waited; perhaps it is back in a moment
                continue
            if self._works(conn):
                return conn
            conn.close()
            super().putconn(conn)  # which replaces it

    def putconn(self, conn: PooledConnection) -> None:
        """Take a connection back; one that is broken makes every other one suspect."""
        now = time.monotonic()
        if conn.closed:
            self._lost_at = now
        else:
            conn.used_at = now
        super().putconn(conn)

    def _next(self, deadline: float) -> PooledConnection:
        """A connection of the pool, in whatever state it is. Who waits for long keeps its place in the line."""
        left_s = deadline - time.monotonic()
        try:
            return super().getconn(min(NOTICE_S, left_s))
        except PoolTimeout:
            if left_s <= NOTICE_S:
                raise
        if not self.outage.look():
            raise DatabaseAway("the database is away")
        return super().getconn(deadline - time.monotonic())

    def _works(self, conn: PooledConnection) -> bool:
        """Whether it may be handed out."""
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
            if self.outage.look():  # the server is there, the connection is not: nor will the others be
                self.drain()
        if not works:
            self._lost_at = time.monotonic()
        return works

    def _on_connect_failed(self, _: ConnectionPool[Any]) -> None:
        """psycopg's call after an attempt to connect that failed. While others work, the database is not away."""
        if self.get_stats()["pool_size"] == 0:
            self.outage.begin("no connection is left, and none can be made")

    def _on_outage(self) -> None:
        """Distrust all there is, and wake who waits in line, as `close()` of the pool does: there is no public way."""
        self._lost_at = time.monotonic()
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        for client in waiting:
            client.fail(DatabaseAway("the database is away"))

    def _on_return(self) -> None:
        self._lost_at = time.monotonic()


def _answers(conn: PooledConnection) -> bool:
    """One round trip with an empty statement, over libpq: psycopg's own `execute` has no limit of time.

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
    """Whether the server has sent something, or has closed the connection, waiting at most so long."""
    poller = select.poll()
    poller.register(conn.fileno(), select.POLLIN)
    return bool(poller.poll(max(0.0, seconds) * 1000))
