"""What retention and erasure need."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


class AddIndexOfWebhooks(migrations.AddIndex):
    """An index of the webhooks app, made here for what is erased here."""

    def state_forwards(self, app_label: str, state: Any) -> None:
        super().state_forwards("webhooks", state)

    def database_forwards(self, app_label: str, *more: Any) -> None:
        super().database_forwards("webhooks", *more)

    def database_backwards(self, app_label: str, *more: Any) -> None:
        super().database_backwards("webhooks", *more)


def _task() -> models.ForeignKey:
    return models.ForeignKey(
        blank=True,
        db_constraint=False,
        null=True,
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to="tasks.task",
    )


class Migration(migrations.Migration):
    dependencies = [("scores", "0005_encrypted_errors"), ("tasks", "0005_retention"), ("webhooks", "0001_initial")]
    operations = [
        migrations.AlterField(model_name="erasure", name="task", field=_task()),
        migrations.AlterField(model_name="legalhold", name="task", field=_task()),
        migrations.AddIndex(
            model_name="callbackitem", index=models.Index(fields=["run"], name="scores_callback_item_run")
        ),
        AddIndexOfWebhooks(
            model_name="event",
            index=models.Index(
                condition=models.Q(("subject_id__isnull", False)), fields=["subject_id"], name="webhooks_event_of"
            ),
        ),
    ]
