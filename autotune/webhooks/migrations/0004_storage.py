"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

COLUMNS = (
    "webhooks_event ALTER COLUMN data",
    "webhooks_event ALTER COLUMN body",
    "webhooks_delivery ALTER COLUMN log",
    "webhooks_webhook ALTER COLUMN url",
    "webhooks_webhook ALTER COLUMN secret",
    "webhooks_webhook ALTER COLUMN previous_secret",
)


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0003_export_completed")]
    operations = [
        PostgresSQL(
            [f"ALTER TABLE {column} SET STORAGE EXTERNAL" for column in COLUMNS],
            [f"ALTER TABLE {column} SET STORAGE EXTENDED" for column in COLUMNS],
        )
    ]
