"""Migration operations that run only on PostgreSQL; SQLite skips them."""

from typing import Any

from django.db.migrations.operations import RunSQL


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
