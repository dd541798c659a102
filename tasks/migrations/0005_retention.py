"""What retention needs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tasks", "0004_trust")]
    operations = []
