"""Migration operations that differ between PostgreSQL and SQLite."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations.operations import AddIndex, RunSQL


class PostgresSQL(RunSQL):
    """RunSQL that does nothing on other databases."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class UncompressedColumns(PostgresSQL):
    """Store ciphertext without an attempt to compress it, which would only cost time."""

    def __init__(self, table: str, *columns: str) -> None:
        super().__init__(
            [f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL" for column in columns],
            [f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTENDED" for column in columns],
        )


class AddIndexWhileServing(AddIndexConcurrently):
    """Add an index without blocking writes on PostgreSQL. The migration must have `atomic = False`."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)
