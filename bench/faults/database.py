"""The server's database as the harness reads it: plain SQL on a connection of its own, on either engine."""

import sqlite3
import time
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg

PATIENCE_S = 60.0
# ReadOnlySqlTransaction: a connection opened while the server was read-only stays read-only.
AWAY = (
    psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction, sqlite3.OperationalError,
)  # fmt: skip


class Database:
    """`address` is a postgres:// address or the path of an SQLite file. Placeholders are %s."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.postgres = address.startswith("postgres")
        self._connection: Any = None

    def rows(self, statement: str, *values: Any) -> list[tuple]:
        """Waits for a database that is away."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.rows_now(statement, *values)
            except AWAY:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def rows_now(self, statement: str, *values: Any) -> list[tuple]:
        """raises one of AWAY if the database is"""
        try:
            if self._connection is None:
                self._connection = self._connect()
            cursor = self._connection.cursor()
            if not self.postgres:
                statement = statement.replace("%s", "?")
                values = tuple(value.hex if isinstance(value, UUID) else value for value in values)
            cursor.execute(statement, values) if values else cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except AWAY:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def epoch(self, column: str) -> str:
        """SQL for a time as seconds since 1970."""
        return f"extract(epoch from {column})" if self.postgres else f"(julianday({column}) - 2440587.5) * 86400.0"

    def moment(self, column: str, seconds: float) -> str:
        """SQL for a time moved by so many seconds, as the column stores it."""
        if self.postgres:
            return f"{column} + interval '{seconds} seconds'"
        return f"strftime('%Y-%m-%d %H:%M:%f', {column}, '{seconds:+} seconds')"

    def _connect(self) -> Any:
        if self.postgres:
            return psycopg.connect(self.address, autocommit=True, connect_timeout=3)
        return sqlite3.connect(self.address, timeout=20, isolation_level=None)


def as_uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(hex=str(value))
