"""What was purged below a running export. Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations, models

from autotune.core.migration_operations import PostgresSQL

COLUMNS = (
    "exports_export ALTER COLUMN file_key",
)


class Migration(migrations.Migration):
    dependencies = [("exports", "0002_reach")]
    operations = [
        migrations.AddField("export", "purged_to", models.UUIDField(blank=True, null=True)),
        PostgresSQL(
            [f"ALTER TABLE {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
