"""Inserts and deletes many rows in one statement, without a parameter for each value.

Rows are inserted by binary COPY on PostgreSQL, by one prepared INSERT on SQLite. Neither runs field defaults nor
`pre_save`: every column's value is given, as the model field takes it.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, cast

from django.db import connection, models

COPY_TYPES = {
    "UUIDField": "uuid",
    "CharField": "text",
    "TextField": "text",
    "BinaryField": "bytea",
    "DateTimeField": "timestamptz",
    "SmallIntegerField": "int2",
    "PositiveSmallIntegerField": "int2",
    "IntegerField": "int4",
    "PositiveIntegerField": "int4",
    "BigIntegerField": "int8",
    "FloatField": "float8",
    "BooleanField": "bool",
    "ForeignKey": "uuid",
    "OneToOneField": "uuid",
}


def insert(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert `rows`, whose values are in the order of `names` (attribute names, such as `task_id`).

    rows    may be a generator, which must not query: its connection is in the middle of the COPY
    raises  IntegrityError as any insert does; run it inside a transaction. FieldDoesNotExist for another name
    """
    if connection.vendor == "postgresql":
        _copy(model, tuple(names), rows)
    else:
        _insert_many(model, _fields(model, names), rows)


def _fields(model: type[models.Model], names: Sequence[str]) -> list[models.Field]:
    return [cast(models.Field, model._meta.get_field(name)) for name in names]


def _columns(fields: Sequence[models.Field]) -> str:
    return ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)


@cache
def _copy_statement(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, list[str]]:
    """The statement that copies rows of these columns, and the types of the columns."""
    fields = _fields(model, names)
    table = connection.ops.quote_name(model._meta.db_table)
    statement = f"COPY {table} ({_columns(fields)}) FROM STDIN WITH (FORMAT BINARY)"
    return statement, [COPY_TYPES[field.get_internal_type()] for field in fields]


def _copy(model: type[models.Model], names: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
    statement, types = _copy_statement(model, names)
    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        connection.connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _insert_many(model: type[models.Model], fields: Sequence[models.Field], rows: Iterable[Sequence[Any]]) -> None:
    columns = _columns(fields)
    marks = ", ".join(["%s"] * len(fields))
    table = connection.ops.quote_name(model._meta.db_table)
    prepared = [
        [field.get_db_prep_save(value, connection) for field, value in zip(fields, row, strict=True)] for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", prepared)  # noqa: S608 - names of the model


def delete(model: type[models.Model], keys: Sequence[int]) -> None:
    """Delete the rows with these primary keys, and nothing that refers to them."""
    table = connection.ops.quote_name(model._meta.db_table)
    key = connection.ops.quote_name(str(model._meta.pk.column))
    if connection.vendor == "postgresql":
        condition, parameter = f"{key} = any(%s)", cast(Any, list(keys))
    else:
        condition, parameter = f"{key} in (select value from json_each(%s))", json.dumps(list(keys))  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE {condition}", [parameter])  # noqa: S608 - names of the model
