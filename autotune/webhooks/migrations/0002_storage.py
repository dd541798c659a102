"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import UncompressedColumns


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]
    operations = [
        UncompressedColumns("webhooks_event", "data", "body"),
        UncompressedColumns("webhooks_delivery", "log"),
        UncompressedColumns("webhooks_webhook", "url", "secret", "previous_secret"),
    ]
