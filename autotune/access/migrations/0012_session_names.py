"""Columns of sessions by the names that Django and HTTP give to what they hold."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0011_runs")]
    operations = [
        migrations.RenameField("WebSession", "password_mark", "auth_hash"),
        migrations.RenameField("WebSession", "agent", "user_agent"),
    ]
