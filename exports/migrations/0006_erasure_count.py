"""The counter of erasures that may affect an export, by its name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("exports", "0005_left_out_by_reason")]
    operations = [migrations.RenameField("Export", "disturbed", "erasure_count")]
