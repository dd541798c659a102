"""Whether a task's rewards use calibrated values."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0010_forms")]
    operations = [
        migrations.AddField("task", "use_calibration", models.BooleanField(default=False, db_default=False)),
    ]
