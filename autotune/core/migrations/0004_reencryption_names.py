"""Columns of re-encryption that say what they hold."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("core", "0003_damage")]
    operations = [
        migrations.RenameField("Reencryption", "found", "stale"),
        migrations.RenameField("Reencryption", "began_at", "started_at"),
    ]
