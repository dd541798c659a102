"""Read rows in the database's own form, without model objects, since an export reads millions."""

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from django.db.models import BooleanField, F, Func, Value
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.json import JsonbBinaryLoader
from psycopg.types.string import ByteaBinaryLoader

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
POSTGRES_EPOCH_MS = 946_684_800_000  # PostgreSQL counts microseconds from 2000 on


def plain(queryset: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a `values_list`.

    Ids are 16 bytes, text is UTF-8, moments whole milliseconds since 1970, encrypted columns their envelopes.
    """
    if connection.vendor == "postgresql":
        return _binary(queryset)
    return [tuple(map(_plain, row)) for row in queryset]


def among(queryset: Any, column: str, ids: Sequence[bytes]) -> Any:
    """Return the rows whose `column` is one of the ids (16 bytes each). Use it only with `plain`."""
    if connection.vendor == "postgresql":
        return queryset.filter(_IsAny(F(column), Value(_Ids(ids))))
    return queryset.filter(**{f"{column}__in": [UUID(bytes=pk) for pk in ids]})


class _Ids:
    """A list of ids as one parameter of PostgreSQL."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        self.ids = ids


class _IdsDumper(Dumper):
    """The binary form of uuid[]: dimensions, nulls, type, length, first index; then each value behind its length."""

    format = Format.BINARY
    oid = psycopg.postgres.types["uuid"].array_oid

    def dump(self, obj: _Ids) -> bytes:
        if not obj.ids:
            return _ARRAY.pack(0, 0, _UUID_OID)
        head = _ARRAY.pack(1, 0, _UUID_OID) + _DIMENSION.pack(len(obj.ids), 1)
        return head + _UUID_LENGTH + _UUID_LENGTH.join(obj.ids)


_ARRAY, _DIMENSION = struct.Struct(">iii"), struct.Struct(">ii")
_UUID_OID = psycopg.postgres.types["uuid"].oid
_UUID_LENGTH = (16).to_bytes(4, "big")


class _IsAny(Func):
    """`column = any(array)`: one parameter, where a list of Django's has thousands."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()
    conditional = True


class _MillisecondsLoader(Loader):
    format = Format.BINARY

    def load(self, data: Any) -> int:
        return int.from_bytes(data, "big", signed=True) // 1000 + POSTGRES_EPOCH_MS


def _binary(queryset: Any) -> list[tuple[Any, ...]]:
    """Reads values in PostgreSQL's binary form, which is the cheapest. Django's cursors support only text."""
    sql, params = queryset.query.get_compiler(connection.alias).as_sql()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.Cursor(connection.connection)
    cursor.format = Format.BINARY
    for name in ("uuid", "text", "varchar", "bytea"):
        cursor.adapters.register_loader(name, ByteaBinaryLoader)
    cursor.adapters.register_loader("timestamptz", _MillisecondsLoader)
    cursor.adapters.register_loader("jsonb", JsonbBinaryLoader)
    cursor.adapters.register_dumper(_Ids, _IdsDumper)
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(cursor) as wrapped:  # type: ignore[arg-type] # the stubs know only Django's own cursors
        wrapped.execute(sql, params)
        return wrapped.fetchall()


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime):
        return (value - EPOCH) // MILLISECOND
    return value
