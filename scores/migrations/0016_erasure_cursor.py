"""How far an erasure is, by the name that the cursors of exports and re-encryption have."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scores", "0015_engine")]
    operations = [migrations.RenameField("Erasure", "after", "cursor")]
