"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import UncompressedColumns


class Migration(migrations.Migration):
    dependencies = [("exports", "0001_initial")]
    operations = [
        UncompressedColumns("exports_export", "file_key"),
    ]
