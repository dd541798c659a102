"""The scale of a grader version. All versions so far judged from 0 to 1."""

from sys import float_info

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graders", "0006_hours")]
    operations = [
        migrations.AddField("graderversion", "scale_min", models.FloatField(default=0.0, db_default=0.0)),
        migrations.AddField("graderversion", "scale_max", models.FloatField(default=1.0, db_default=1.0)),
        migrations.AddConstraint(
            "graderversion",
            models.CheckConstraint(
                condition=models.Q(
                    scale_min__lt=models.F("scale_max"), scale_min__gte=-float_info.max, scale_max__lte=float_info.max
                ),
                name="graders_version_scale",
            ),
        ),
    ]
