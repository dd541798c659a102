"""The check of the renamed counter has its column's name, as in a new table."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

RENAME = "ALTER TABLE exports_export RENAME CONSTRAINT {} TO {}"
NAMES = ("exports_export_disturbed_check", "exports_export_erasure_count_check")


class Migration(migrations.Migration):
    dependencies = [("exports", "0006_erasure_count")]
    operations = [PostgresSQL(RENAME.format(*NAMES), RENAME.format(*reversed(NAMES)))]
