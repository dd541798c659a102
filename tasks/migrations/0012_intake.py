"""Kinds of tasks, held-out completions, the index for readers, metadata that is never null, and keyed digests.

Readers use neither held-out completions nor, by default, those of evaluations, so the index by prompt leaves them out.
"""

from contextlib import suppress
from typing import Any

from django.db import migrations, models

import autotune.core.crypto.fields
from autotune.core.crypto.encryption import Undecryptable
from tasks import versions
from tasks.panels import PanelSeat

READER_ROWS = models.Q(held_out=False, source__in=("api", "manual", "telemetry"))


def fill(apps: Any, schema_editor: Any) -> None:
    """Give each task without metadata an empty object, encrypted like any other."""
    tasks = apps.get_model("tasks", "Task").objects.filter(metadata__isnull=True)
    for task in tasks.only("organization_id").order_by("pk").iterator(chunk_size=500):
        task.metadata = {}
        task.save(update_fields=["metadata"])


def key_digests(apps: Any, schema_editor: Any) -> None:
    """Replace the plain digest of each version. One that cannot be read keeps it: equal content is a new version."""
    version, member = apps.get_model("tasks", "TaskVersion"), apps.get_model("tasks", "PanelMember")
    for row in version.objects.order_by("pk").iterator(chunk_size=500):
        panel = member.objects.filter(task_version=row.pk).order_by("position")
        seats = [PanelSeat(*values) for values in panel.values_list("grader_id", "weight", "part")]
        with suppress(Undecryptable):
            digest = versions.digest(row.organization_id, row.content, seats, row.aggregation)
            version.objects.filter(pk=row.pk).update(digest=digest)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0011_scales")]
    operations = [
        migrations.AddField(
            model_name="task",
            name="kind",
            field=models.CharField(
                choices=[("task", "Task"), ("deck", "Deck")], db_default="task", default="task", max_length=4
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(condition=models.Q(kind__in=["task", "deck"]), name="tasks_task_kind"),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
        migrations.RunPython(key_digests, migrations.RunPython.noop, elidable=True),
        migrations.AlterField(  # without a default, which the database could not encrypt
            model_name="task",
            name="metadata",
            field=autotune.core.crypto.fields.EncryptedJSONField(),
        ),
        migrations.AlterField(
            model_name="task",
            name="metadata",
            field=autotune.core.crypto.fields.EncryptedJSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="completion",
            name="held_out",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RemoveIndex(model_name="completion", name="tasks_completion_by_prompt"),
        migrations.AddIndex(
            model_name="completion",
            index=models.Index(
                condition=READER_ROWS,
                fields=["task", "prompt_digest"],
                include=("answer_digest", "id", "form", "source"),
                name="tasks_completion_by_prompt",
            ),
        ),
        migrations.AddIndex(
            model_name="completion",
            index=models.Index(
                condition=models.Q(source="evaluation"),
                fields=["organization", "id"],
                name="tasks_completion_evaluated",
            ),
        ),
    ]
