"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import UncompressedColumns


class Migration(migrations.Migration):
    dependencies = [("graders", "0001_initial")]
    operations = [
        UncompressedColumns("graders_gradersecret", "secret"),
        UncompressedColumns("graders_gradercheck", "detail"),
        UncompressedColumns("graders_graderstatuschange", "reason"),
    ]
