"""Raw values of reviews, and details and calibrated values of scores.

The columns are null where nothing is stored, so processes of the previous release can serve during the migration.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import F

import autotune.core.crypto.fields
from autotune.core.migration_operations import PostgresSQL


TABLES = ("scores_score", "scores_review")


def fill(apps: Any, schema_editor: Any) -> None:
    """All scales so far are from 0 to 1, so what was decided is also the raw value."""
    apps.get_model("scores", "Review").objects.update(decided_raw_value=F("decided_value"))


class Migration(migrations.Migration):
    dependencies = [("scores", "0012_counters")]
    operations = [
        migrations.AddField("score", "calibrated_value", models.FloatField(blank=True, null=True)),
        migrations.AddField("score", "calibrated_map_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("score", "details", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
        migrations.AddConstraint(
            "score",
            models.CheckConstraint(
                condition=models.Q(calibrated_value=None, calibrated_map_id=None)
                | models.Q(
                    calibrated_value__isnull=False,
                    calibrated_value__gte=0,
                    calibrated_value__lte=1,
                    calibrated_map_id__isnull=False,
                ),
                name="scores_score_calibrated",
            ),
        ),
        migrations.AddField("reward", "uncalibrated_value", models.FloatField(blank=True, null=True)),
        migrations.AddField("review", "raw_value", models.FloatField(blank=True, null=True)),
        migrations.AddField("review", "decided_raw_value", models.FloatField(blank=True, null=True)),
        migrations.AddField("review", "details", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        PostgresSQL(  # ciphertext does not compress
            [f"ALTER TABLE {table} ALTER COLUMN details SET STORAGE EXTERNAL" for table in TABLES],
            [f"ALTER TABLE {table} ALTER COLUMN details SET STORAGE EXTENDED" for table in TABLES],
        ),
    ]
