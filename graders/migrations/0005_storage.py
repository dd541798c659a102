"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

COLUMNS = (
    "graders_gradersecret ALTER COLUMN secret",
    "graders_gradercheck ALTER COLUMN detail",
    "graders_graderstatuschange ALTER COLUMN reason",
)


class Migration(migrations.Migration):
    dependencies = [("graders", "0004_redaction")]
    operations = [
        PostgresSQL(
            [f"ALTER TABLE {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
