"""After a test that commits, the tables have again what the migrations wrote.

Django truncates all tables, which takes PostgreSQL half a second, and restores those rows one by one before the next such
test. Until then, a test that rolls back would miss the built-in roles; with `--dist worksteal`, such a test may come after
one that commits.
"""

from django.core import serializers
from django.db import transaction
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery

MANY_OCTETS = 64 * 1024  # of a table: then all are truncated, so that deleted rows change no query plan


def install(connection):
    """Let every flush of this database end with the rows that the migrations wrote, and nothing else restore them.

    It changes the classes, since Django has another connection object where an event loop runs, as Playwright's does.
    """
    rows = _rows(connection)
    inserts = [insert for model, instances in rows.items() for insert in _insert(connection, model, instances)]
    tables = [model._meta.db_table for model in rows]
    with connection.cursor() as cursor:
        digests = _digests(cursor, tables) if connection.vendor == "postgresql" else {}

    def empty_and_restore(operations, statements):
        database = operations.connection
        with transaction.atomic(using=database.alias), database.cursor() as cursor:
            if digests and _has_large_table(cursor, tables):
                for statement in statements:
                    cursor.execute(statement)
            else:
                kept = {name for name, digest in digests.items() if _digests(cursor, [name])[name] == digest}
                _delete_rows(cursor, set(database.introspection.django_table_names(include_views=False)) - kept)
            for statement, values in inserts:
                cursor.execute(statement, values)

    type(connection.ops).execute_sql_flush = empty_and_restore
    type(connection.creation).deserialize_db_from_string = lambda creation, contents: None


def _digests(cursor, tables):
    """A digest of the rows of each table: one that is as the migrations left it need not be written again."""
    digest = "select '{0}', md5(string_agg(t::text, ' ' order by t::text)) from \"{0}\" t"
    cursor.execute(" union all ".join(digest.format(name) for name in tables))
    return dict(cursor.fetchall())


def _has_large_table(cursor, but_for):
    cursor.execute(
        "select exists (select from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace"
        " and pg_relation_size(oid) > %s and relname <> all(%s))",
        [MANY_OCTETS, but_for],
    )
    return cursor.fetchone()[0]


def _delete_rows(cursor, tables):
    """Delete all rows, again until there are none: triggers of one table write to another."""
    occupied = " union all ".join(f"select '{name}' where exists (select 1 from \"{name}\")" for name in tables)
    while True:
        cursor.execute(occupied)
        names = [name for (name,) in cursor.fetchall()]
        if not names:
            return
        for name in names:
            cursor.execute(f'delete from "{name}"')


def _rows(connection):
    """The rows that the migrations wrote, as instances by model, in the order of their dependencies."""
    rows = {}
    for entry in serializers.deserialize("json", connection._test_serialized_contents, using=connection.alias):
        assert not any(entry.m2m_data.values()), "rows of a relation between two tables would be lost"
        rows.setdefault(type(entry.object), []).append(entry.object)
    return rows


def _insert(connection, model, instances):
    """The statements, each with its values, that insert the rows of a table that are not there."""
    query = InsertQuery(model, on_conflict=OnConflict.IGNORE)
    query.insert_values(model._meta.local_concrete_fields, instances, raw=True)
    return query.get_compiler(connection=connection).as_sql()
