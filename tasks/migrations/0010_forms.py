"""The form of each completion's conversation, and the variables of its prompt.

A row without messages is one user text. The form of rows with messages is known only after decryption: they keep null,
and a background job sets their form (tasks/filling.py). Digests now cover the task's system prompt, so completions of
versions that have one lose their digests, and get new ones in the same way.
"""

from typing import Any

from django.db import migrations, models

import autotune.core.crypto.fields
from autotune.core.crypto.encryption import Undecryptable
from autotune.core.migration_operations import PostgresSQL

FORMS = ("prompt", "chat", "tools", "parts")


def mark(apps: Any, schema_editor: Any) -> None:
    completion, version = apps.get_model("tasks", "Completion"), apps.get_model("tasks", "TaskVersion")
    completion.objects.filter(messages__isnull=False).update(form=None)
    for row in version.objects.order_by("pk").only("content").iterator(chunk_size=500):
        if has_system_prompt(row):
            completion.objects.filter(task_version=row.pk).update(prompt_digest=None, answer_digest=None)


def has_system_prompt(version: Any) -> bool:
    """Whether a version has a system prompt; True if it cannot be read, since digesting again is safe."""
    try:
        return bool(version.content.get("systemPrompt"))
    except Undecryptable:
        return True


class Migration(migrations.Migration):
    dependencies = [("tasks", "0009_version_maker")]
    operations = [
        migrations.RemoveIndex(model_name="completion", name="tasks_completion_undigested"),
        migrations.RemoveIndex(model_name="completion", name="tasks_completion_by_prompt"),
        migrations.AddField(
            model_name="completion",
            name="variables",
            field=autotune.core.crypto.fields.EncryptedJSONField(null=True),
        ),
        PostgresSQL(
            ["ALTER TABLE tasks_completion ALTER COLUMN variables SET STORAGE EXTERNAL"],
            ["ALTER TABLE tasks_completion ALTER COLUMN variables SET STORAGE EXTENDED"],
        ),
        migrations.AddField(
            model_name="completion",
            name="form",
            field=models.CharField(
                choices=[(form, form.capitalize()) for form in FORMS],
                default="prompt",  # for existing rows
                editable=False,
                max_length=6,
                null=True,
            ),
            preserve_default=False,
        ),
        migrations.RunPython(mark, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="completion",
            constraint=models.CheckConstraint(condition=models.Q(form__in=FORMS), name="tasks_completion_form"),
        ),
        migrations.AddIndex(
            model_name="completion",
            index=models.Index(
                condition=models.Q(models.Q(prompt_digest=None) | models.Q(form=None), erased_at=None),
                fields=["id"],
                name="tasks_completion_undigested",
            ),
        ),
        migrations.AddIndex(
            model_name="completion",
            index=models.Index(
                fields=["task", "prompt_digest"],
                include=("answer_digest", "id", "form"),
                name="tasks_completion_by_prompt",
            ),
        ),
    ]
