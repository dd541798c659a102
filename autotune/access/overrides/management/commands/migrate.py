"""Django's `manage.py migrate`, one at a time: a second deployment waits, then finds nothing left to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.core.management.commands import migrate
from django.db import connections

LOCK: Final = 0x6D69_6772_6174_6501


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with _alone(options["database"]):
            super().handle(*args, **options)


@contextmanager
def _alone(database: str) -> Iterator[None]:
    """Hold the migration lock of the database session. The embedded engine needs none: it has one writer."""
    connection = connections[database]
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_unlock(%s)", [LOCK])
