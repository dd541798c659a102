"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

COLUMNS = (
    "tasks_task ALTER COLUMN metadata",
    "tasks_taskversion ALTER COLUMN content",
)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0007_pairing")]
    operations = [
        PostgresSQL(
            [f"ALTER TABLE {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
