"""Time: the database's clock decides about leases and waits; wire times are UTC with milliseconds."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Func


class DatabaseNow(Func):
    """The database's clock at this moment, to the millisecond at least (Django's Now() is whole seconds on SQLite)."""

    template = "clock_timestamp()"
    output_field = DateTimeField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')", **more)


def database_now() -> datetime:
    """The database server's present time."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)  # the embedded engine shares this machine's clock
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        return cursor.fetchone()[0]


def wire(moment: datetime) -> str:
    """`2026-11-28T01:02:03.456Z`."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def parse_filter(text: str, *, end: bool) -> datetime:
    """The instant that a date or date-time of a filter means; a naive one is UTC.

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
