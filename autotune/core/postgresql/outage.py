"""What a process knows about an outage of the database: since when, and a thread that looks for its return."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

logger = logging.getLogger(__name__)
RETRY_S: Final = 0.25  # between two attempts to connect while the database is away, by one thread of each process
PATIENCE_S: Final = 1.0  # a request waits so long for a database that has just left: a restart takes no longer
LOOK_S: Final = 0.8  # a database that does not accept a connection in this time counts as away
REPORT_EVERY_S: Final = 60.0  # lines in the log while it is away
FULL: Final = ("too many", "connection slots are reserved", "no more connections")  # PostgreSQL's and PgBouncer's words


class DatabaseAway(psycopg.OperationalError):
    """The database is known to be away, so nobody waits for a connection."""


class Outage:
    """Shared by all threads of a process. `connect` makes a connection or raises; `begun` and `ended` are called from
    whichever thread notices."""

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection],
        *,
        begun: Callable[[], None],
        ended: Callable[[], None],
        is_over: Callable[[], bool],
    ) -> None:
        """is_over  whether nobody needs the database any more: then the thread ends"""
        self._connect, self._begun, self._ended, self._is_over = connect, begun, ended, is_over
        self._lock = threading.Lock()
        self._returned = threading.Event()
        self._returned.set()
        self._since = self._patient_until = 0.0
        self._look: _Look | None = None

    @property
    def seconds(self) -> float | None:
        """How long the database is away by now; None while it is not."""
        return None if self._returned.is_set() else time.monotonic() - self._since

    def begin(self, reason: str, *, is_patient: bool = True) -> None:
        """The database is away. Safe to report more than once.

        is_patient  whether requests still wait a moment for its return
        """
        with self._lock:
            if not self._returned.is_set():
                return
            self._since = time.monotonic()
            self._patient_until = self._since + (PATIENCE_S if is_patient else 0.0)
            self._returned.clear()
        threading.Thread(target=self._watch, args=(reason,), name="database-outage", daemon=True).start()
        self._begun()

    def wait_for_return(self, asked_at: float) -> None:
        """Return at once while the database is there; wait a moment for one that has just left.

        asked_at  when the caller began to wait (monotonic): it waits no longer than PATIENCE_S in all
        raises    DatabaseAway
        """
        if self._returned.is_set():
            return
        left_s = min(self._patient_until, asked_at + PATIENCE_S) - time.monotonic()
        if not self._returned.wait(max(0.0, left_s)):
            raise DatabaseAway("the database is away")

    def look(self) -> bool:
        """Whether the database accepts connections. If not, or not in time, the outage begins. Threads share a look."""
        with self._lock:
            look = self._look
            if look is None or look.is_old:
                look = self._look = _Look(self._connect)
                look.start()
        reason = look.fault()
        if reason:
            self.begin(reason, is_patient=False)  # who had somebody look has waited long enough
        return not reason

    def _watch(self, reason: str) -> None:
        """Try again and again until it is back."""
        report_at = self._since
        while not self._is_over() and (fault := _fault_of(self._connect)):
            if time.monotonic() >= report_at:
                report_at += REPORT_EVERY_S
                logger.warning("the database is away, by now for %.0f s: %s; %s", self.seconds or 0, reason, fault)
            time.sleep(RETRY_S)
        away_s = self.seconds or 0
        self._ended()
        self._returned.set()
        logger.warning("the database is back after %.1f s", away_s)


class _Look(threading.Thread):
    """One attempt to connect, which several threads may wait for: none of them longer than LOOK_S."""

    def __init__(self, connect: Callable[[], psycopg.Connection]) -> None:
        super().__init__(name="database-look", daemon=True)
        self._connect = connect
        self._begun_at = time.monotonic()
        self._done = threading.Event()
        self._fault = ""

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self._begun_at > LOOK_S

    def run(self) -> None:
        self._fault = _fault_of(self._connect)
        self._done.set()

    def fault(self) -> str:
        """'' where the database answers."""
        if not self._done.wait(max(0.0, self._begun_at + LOOK_S - time.monotonic())):
            return f"it accepts no connection within {LOOK_S} s"
        return self._fault


def _fault_of(connect: Callable[[], psycopg.Connection]) -> str:
    """Why no connection can be made; '' if one can. A server that is full is there: connections of ours may work."""
    try:
        connect().close()
    except psycopg.Error as exc:
        text = str(exc).strip()
        return "" if any(words in text for words in FULL) else (text.splitlines() or [type(exc).__name__])[0]
    except OSError as exc:
        return str(exc)
    return ""
