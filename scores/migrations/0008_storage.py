"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

COLUMNS = (
    "scores_review ALTER COLUMN reasoning",
    "scores_review ALTER COLUMN explanation",
    "scores_legalhold ALTER COLUMN reason",
    "scores_workflowrun ALTER COLUMN error_message",
)


class Migration(migrations.Migration):
    dependencies = [("scores", "0007_live")]
    operations = [
        PostgresSQL(
            [f"ALTER TABLE {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
