"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

COLUMNS = ("prompt", "response", "messages", "metadata")


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]
    operations = [
        PostgresSQL(
            [f"ALTER TABLE tasks_completion ALTER COLUMN {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE tasks_completion ALTER COLUMN {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
