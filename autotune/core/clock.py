"""Time: the database's clock decides about leases and waits; wire times are UTC with milliseconds."""

import logging
import time as machine
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import DateTimeField, Func

READING_S: Final = 60.0  # callers that may read the database's clock use an earlier reading for this long
NOTICED_S: Final = 5.0  # a larger difference between the clocks is logged
WARN_EVERY_S: Final = 600.0

log = logging.getLogger(__name__)


class DatabaseNow(Func):
    """The database's clock at this moment, to the millisecond at least (Django's Now() is whole seconds on SQLite)."""

    template = "clock_timestamp()"
    output_field = DateTimeField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')", **more)


def database_now() -> datetime:
    """Return the database server's present time."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)  # the embedded engine shares this machine's clock
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        moment = cursor.fetchone()[0]
    _reading.take(moment)
    return moment


def shared_time() -> float:
    """Return seconds since 1970 by the database's clock as last read; before the first reading, by the machine's clock.

    Runs no query, so a thread without a connection may call it. Machines whose clocks differ sign with the same time.
    """
    return _reading.time()


def shared_now(*, may_read: bool = True) -> datetime:
    """Return the time of `shared_time` as a datetime.

    may_read  the caller has a connection: read the database's clock if the last reading is older than a minute
    """
    if may_read and connection.vendor == "postgresql" and _reading.age() > READING_S:
        return database_now()
    return datetime.fromtimestamp(_reading.time(), UTC)


class _Reading:
    """The last reading of the database's clock, with the monotonic time at which this process took it."""

    def __init__(self) -> None:
        self._taken: tuple[float, float] | None = None  # database's seconds, monotonic seconds; replaced together
        self._warned = -WARN_EVERY_S

    def take(self, moment: datetime) -> None:
        now = machine.monotonic()
        self._taken = (moment.timestamp(), now)
        ahead = machine.time() - moment.timestamp()
        if abs(ahead) > NOTICED_S and now - self._warned >= WARN_EVERY_S:
            self._warned = now
            log.warning(
                "the clock of this machine is %.0f s %s that of the database, which is used in its place; "
                "let both follow the same time server",
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )

    def age(self) -> float:
        """Seconds since the last reading; infinite before the first."""
        return machine.monotonic() - self._taken[1] if self._taken else float("inf")

    def time(self) -> float:
        if self._taken is None:
            return machine.time()
        database_s, monotonic_s = self._taken
        return database_s + machine.monotonic() - monotonic_s


_reading = _Reading()


def wire(moment: datetime) -> str:
    """Format a moment for the wire, such as `2026-11-28T01:02:03.456Z`."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def parse_filter(text: str, *, end: bool) -> datetime:
    """Return the instant that a date or date-time of a filter means; a naive one is UTC.

    end     for `endDate`: a date is inclusive, so its instant is the start of the next day
    raises  ValueError if the text is neither, or its instant lies outside the years 1 to 9999
    """
    try:
        if len(text) == 10:
            day = date.fromisoformat(text)
            return datetime.combine(day, time(), UTC) + timedelta(days=1 if end else 0)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError as exc:
        raise ValueError(f"{text} lies outside the years 1 to 9999") from exc
