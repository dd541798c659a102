"""Add the index for lists of completions that are sorted by reward within a task."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("scores", "0004_evidence_of_failed_attempts")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="reward",
            index=models.Index(
                condition=models.Q(("value__isnull", False)),
                fields=["task", "value", "completion"],
                name="scores_reward_by_value",
            ),
        ),
    ]
