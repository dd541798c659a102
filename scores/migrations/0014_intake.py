"""Scores and rewards have their completion's source and held-out mark; indexes for readers hold only what they use."""

from typing import Any

from django.db import migrations, models

from scores.counters import triggers

SOURCES = ("api", "manual", "telemetry", "evaluation")
READER_ROWS = models.Q(held_out=False, source__in=("api", "manual", "telemetry"))
EVALUATED = models.Q(source="evaluation")


def copy_sources(apps: Any, schema_editor: Any) -> None:
    """Copy the sources that are not `api`, and have the counters of their tasks built again.

    The triggers name columns of the next migration, which creates them again.
    """
    triggers.drop(schema_editor.connection)
    completions = apps.get_model("tasks", "Completion").objects.exclude(source="api").order_by()
    for name in ("Score", "Reward"):
        rows = apps.get_model("scores", name).objects.all()
        for source in SOURCES[1:]:
            rows.filter(completion__in=completions.filter(source=source)).update(source=source)
    uncounted = apps.get_model("scores", "UncountedTask")
    task_ids = completions.values_list("task_id", flat=True).distinct()
    uncounted.objects.bulk_create([uncounted(task_id=task_id) for task_id in task_ids], ignore_conflicts=True)


def source() -> models.CharField:
    choices = [(name, name.capitalize()) for name in SOURCES]
    return models.CharField(choices=choices, db_default="api", default="api", max_length=10)


def held_out() -> models.BooleanField:
    return models.BooleanField(db_default=False, default=False)


class Migration(migrations.Migration):
    dependencies = [("scores", "0013_scales"), ("tasks", "0012_intake")]
    operations = [
        migrations.AddField(model_name="score", name="source", field=source()),
        migrations.AddField(model_name="score", name="held_out", field=held_out()),
        migrations.AddField(model_name="reward", name="source", field=source()),
        migrations.AddField(model_name="reward", name="held_out", field=held_out()),
        migrations.RunPython(copy_sources, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="score", name="scores_score_by_org"),
        migrations.RemoveIndex(model_name="score", name="scores_score_by_task"),
        migrations.RemoveIndex(model_name="score", name="scores_score_by_value"),
        migrations.RemoveIndex(model_name="reward", name="scores_reward_by_org"),
        migrations.RemoveIndex(model_name="reward", name="scores_reward_by_task"),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(condition=READER_ROWS, fields=["organization", "id"], name="scores_score_by_org"),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(condition=READER_ROWS, fields=["task", "id"], name="scores_score_by_task"),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(condition=EVALUATED, fields=["organization", "id"], name="scores_score_evaluated"),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(condition=READER_ROWS, fields=["task", "value", "id"], name="scores_score_by_value"),
        ),
        migrations.AddIndex(
            model_name="reward",
            index=models.Index(
                condition=READER_ROWS, fields=["organization", "completion"], name="scores_reward_by_org"
            ),
        ),
        migrations.AddIndex(
            model_name="reward",
            index=models.Index(condition=READER_ROWS, fields=["task", "completion"], name="scores_reward_by_task"),
        ),
    ]
