"""Runs and scores name their purpose, which replaces `shadow`; background purposes have an index of their own.

Runs may wait for a model, and name the grader version that must judge.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from scores.counters import triggers

PURPOSES = [("score", "Score"), ("shadow", "Shadow"), ("canary", "Canary"), ("impact", "Impact"), ("gold", "Gold")]
RUNS = "UPDATE scores_workflowrun SET purpose = 'shadow' WHERE panel_size = 0"
SCORES = "UPDATE scores_score SET purpose = 'shadow' WHERE shadow"
SHADOWS = "UPDATE scores_score SET shadow = (purpose <> 'score')"


def count_by_purpose(apps: Any, schema_editor: Any) -> None:
    """On SQLite the triggers are created after all migrations (scores/counters/migrating.py)."""
    if schema_editor.connection.vendor == "postgresql":
        triggers.install(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("scores", "0014_intake"), ("graders", "0007_scales")]

    operations = [
        migrations.AddField(
            model_name="workflowrun",
            name="purpose",
            field=models.CharField(choices=PURPOSES, db_default="score", default="score", max_length=6),
        ),
        migrations.AddField(
            model_name="score",
            name="purpose",
            field=models.CharField(choices=PURPOSES, db_default="score", default="score", max_length=6),
        ),
        migrations.AddField(
            model_name="workflowrun",
            name="grader_version",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="graders.graderversion",
            ),
        ),
        migrations.RunSQL([RUNS, SCORES], [SHADOWS]),
        migrations.RemoveField(model_name="score", name="shadow"),
        migrations.AlterField(
            model_name="workflowrun",
            name="priority",
            field=models.SmallIntegerField(
                choices=[(-1, "Background"), (0, "Low"), (1, "Normal"), (2, "High")], default=1
            ),
        ),
        migrations.AlterField(
            model_name="workflowrun",
            name="waits_for",
            field=models.CharField(
                blank=True,
                choices=[
                    ("grader", "Grader"),
                    ("callback", "Callback"),
                    ("model", "Model"),
                    ("review", "Review"),
                    ("reuse", "Reuse"),
                ],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="workflowrun",
            constraint=models.CheckConstraint(
                condition=models.Q(purpose="score", panel_size__gt=0, priority__gt=-1)
                | models.Q(purpose="shadow", panel_size=0, priority__gt=-1)
                | models.Q(purpose__in=("canary", "impact", "gold"), panel_size=0, priority=-1),
                name="scores_run_purpose",
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.CheckConstraint(
                condition=models.Q(purpose__in=["score", "shadow", "canary", "impact", "gold"]),
                name="scores_score_purpose",
            ),
        ),
        migrations.AddIndex(
            model_name="workflowrun",
            index=models.Index(
                condition=models.Q(("priority__lte", -1), ("status", "pending")),
                fields=["grader", "-priority", "id"],
                name="scores_run_background",
            ),
        ),
        migrations.RunPython(count_by_purpose, migrations.RunPython.noop),
    ]
