"""Ciphertext does not compress: do not let PostgreSQL try."""

from django.db import migrations

from autotune.core.migration_operations import UncompressedColumns


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]
    operations = [
        UncompressedColumns("tasks_task", "metadata"),
        UncompressedColumns("tasks_taskversion", "content"),
        UncompressedColumns("tasks_completion", "prompt", "response", "messages", "metadata", "variables"),
    ]
