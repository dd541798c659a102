"""The state of a database outage in one process: its start, and a thread that watches for its end."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

logger = logging.getLogger(__name__)
RETRY_S: Final = 0.25  # between two attempts to connect while the database is away, by one thread of each process
PATIENCE_S: Final = 1.0  # a request waits this long for a database that has just gone: a restart takes no longer
CONNECT_S: Final = 0.8  # a database that does not accept a connection in this time counts as away
REPORT_EVERY_S: Final = 60.0  # lines in the log while it is away
FULL: Final = ("too many", "connection slots are reserved", "no more connections")  # texts of PostgreSQL and PgBouncer


class DatabaseAway(psycopg.OperationalError):
    """The database is away, so callers do not wait for a connection."""


class DatabaseOutage:
    """The outage state that all threads of a process share.

    connect           opens a connection, or raises
    on_start, on_end  called by the thread that notices
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection],
        *,
        on_start: Callable[[], None],
        on_end: Callable[[], None],
        is_over: Callable[[], bool],
    ) -> None:
        """is_over  whether the database is no longer needed: then the thread ends"""
        self._connect, self._on_start, self._on_end, self._is_over = connect, on_start, on_end, is_over
        self._lock = threading.Lock()
        self._returned = threading.Event()
        self._returned.set()
        self.is_on = False  # read without the lock, for each connection that a caller takes
        self._since = self._patient_until = 0.0
        self._attempt: _Attempt | None = None

    @property
    def seconds(self) -> float | None:
        """How long the database has been away, in seconds; None while it is available."""
        return None if self._returned.is_set() else time.monotonic() - self._since

    def start(self, reason: str, *, is_patient: bool = True) -> None:
        """Start the outage. Safe to call more than once.

        is_patient  whether requests still wait a moment for its end
        """
        with self._lock:
            if not self._returned.is_set():
                return
            self._since = time.monotonic()
            self._patient_until = self._since + (PATIENCE_S if is_patient else 0.0)
            self._returned.clear()
            self.is_on = True
        threading.Thread(target=self._watch, args=(reason,), name="database-outage", daemon=True).start()
        self._on_start()

    def wait_for_return(self, waiting_since: float) -> None:
        """Wait a moment if the database has just gone; return at once while it is there.

        waiting_since  when the caller started to wait (monotonic): it waits no longer than PATIENCE_S in all
        raises         DatabaseAway
        """
        if self._returned.is_set():
            return
        left_s = min(self._patient_until, waiting_since + PATIENCE_S) - time.monotonic()
        if not self._returned.wait(max(0.0, left_s)):
            raise DatabaseAway("the database is away")

    def check(self) -> bool:
        """Whether the database accepts connections in time. If not, start the outage. Threads share one attempt."""
        with self._lock:
            attempt = self._attempt
            if attempt is None or attempt.is_old:
                attempt = self._attempt = _Attempt(self._connect)
                attempt.start()
        reason = attempt.fault()
        if reason:
            self.start(reason, is_patient=False)  # the callers have waited long enough for this attempt
        return not reason

    def _watch(self, reason: str) -> None:
        """Retry until the database is back."""
        report_at = self._since
        while not self._is_over() and (fault := _fault_of(self._connect)):
            if time.monotonic() >= report_at:
                report_at += REPORT_EVERY_S
                logger.warning("the database is away, by now for %.0f s: %s; %s", self.seconds or 0, reason, fault)
            time.sleep(RETRY_S)
        away_s = self.seconds or 0
        self._on_end()
        self.is_on = False
        self._returned.set()
        logger.warning("the database is back after %.1f s", away_s)


class _Attempt(threading.Thread):
    """One attempt to connect, for which several threads may wait: none of them longer than CONNECT_S."""

    def __init__(self, connect: Callable[[], psycopg.Connection]) -> None:
        super().__init__(name="database-check", daemon=True)
        self._connect = connect
        self._started_at = time.monotonic()
        self._done = threading.Event()
        self._fault = ""

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self._started_at > CONNECT_S

    def run(self) -> None:
        self._fault = _fault_of(self._connect)
        self._done.set()

    def fault(self) -> str:
        """Why the attempt failed; '' if the database answers."""
        if not self._done.wait(max(0.0, self._started_at + CONNECT_S - time.monotonic())):
            return f"it accepts no connection within {CONNECT_S} s"
        return self._fault


def _fault_of(connect: Callable[[], psycopg.Connection]) -> str:
    """Why no connection can be opened; '' if one can. A full server is not away: our open connections may work."""
    try:
        connect().close()
    except psycopg.Error as exc:
        text = str(exc).strip()
        return "" if any(words in text for words in FULL) else (text.splitlines() or [type(exc).__name__])[0]
    except OSError as exc:
        return str(exc)
    return ""
