"""What login and sessions need."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("access", "0006_roles")]
    operations = []
