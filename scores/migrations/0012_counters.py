"""Counters of scores, rewards and completions, their triggers, and the index that finds a value's place in a task."""

from typing import Any

import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from scores.counters import triggers


def begin(apps: Any, schema_editor: Any) -> None:
    """Count from now on. What is there already is counted task by task by a job (scores/counters/building.py), so that
    the migration holds nobody up; until then the figures of these tasks are read from their rows.

    On SQLite the triggers are made after all migrations (scores/counters/migrating.py): later ones make their tables anew.
    """
    if schema_editor.connection.vendor == "postgresql":
        triggers.install(schema_editor.connection)
    tasks = apps.get_model("tasks", "Task").objects.values_list("pk", flat=True)
    uncounted = apps.get_model("scores", "UncountedTask")
    uncounted.objects.bulk_create([uncounted(task_id=task_id) for task_id in tasks], batch_size=1_000)


def end(apps: Any, schema_editor: Any) -> None:
    triggers.drop(schema_editor.connection)


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0010_second_factors'),
        ('graders', '0006_hours'),
        ('scores', '0011_bounded_looks'),
        ('tasks', '0009_version_maker'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ScoreCount',
            fields=[
                ('organization_id', models.UUIDField()),
                ('task_id', models.UUIDField()),
                ('model_id', models.CharField(max_length=200)),
                ('grader_version_id', models.UUIDField()),
                ('source', models.CharField(choices=[('api', 'Api'), ('manual', 'Manual'), ('telemetry', 'Telemetry'), ('evaluation', 'Evaluation')], max_length=10)),
                ('held_out', models.BooleanField(db_default=False, default=False)),
                ('standing', models.SmallIntegerField(choices=[(0, 'Counts'), (1, 'Listed'), (2, 'Deleted')])),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('span', models.SmallIntegerField(choices=[(0, 'Ever'), (1, 'Day'), (2, 'Hour')])),
                ('start', models.DateTimeField()),
                ('number', models.BigIntegerField()),
                ('total_0', models.BigIntegerField()),
                ('total_1', models.BigIntegerField()),
                ('squares_0', models.BigIntegerField()),
                ('squares_1', models.BigIntegerField()),
                ('squares_2', models.BigIntegerField()),
                ('squares_3', models.BigIntegerField()),
                ('bins', models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name='ScoreTally',
            fields=[
                ('organization_id', models.UUIDField()),
                ('task_id', models.UUIDField()),
                ('model_id', models.CharField(max_length=200)),
                ('grader_version_id', models.UUIDField()),
                ('source', models.CharField(choices=[('api', 'Api'), ('manual', 'Manual'), ('telemetry', 'Telemetry'), ('evaluation', 'Evaluation')], max_length=10)),
                ('held_out', models.BooleanField(db_default=False, default=False)),
                ('standing', models.SmallIntegerField(choices=[(0, 'Counts'), (1, 'Listed'), (2, 'Deleted')])),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('hour', models.DateTimeField()),
                ('sign', models.SmallIntegerField()),
                ('units', models.JSONField()),
            ],
            options={
                'verbose_name_plural': 'score tallies',
            },
        ),
        migrations.CreateModel(
            name='TaskCount',
            fields=[
                ('completions', models.BigIntegerField(db_default=0, default=0)),
                ('rewarded', models.BigIntegerField(db_default=0, default=0)),
                ('unrewarded', models.BigIntegerField(db_default=0, default=0)),
                ('reward_high', models.BigIntegerField(db_default=0, default=0)),
                ('reward_low', models.BigIntegerField(db_default=0, default=0)),
                ('task_id', models.UUIDField(primary_key=True, serialize=False)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='TaskTally',
            fields=[
                ('completions', models.BigIntegerField(db_default=0, default=0)),
                ('rewarded', models.BigIntegerField(db_default=0, default=0)),
                ('unrewarded', models.BigIntegerField(db_default=0, default=0)),
                ('reward_high', models.BigIntegerField(db_default=0, default=0)),
                ('reward_low', models.BigIntegerField(db_default=0, default=0)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('task_id', models.UUIDField()),
            ],
            options={
                'verbose_name_plural': 'task tallies',
            },
        ),
        migrations.CreateModel(
            name='UncountedTask',
            fields=[
                ('task_id', models.UUIDField(primary_key=True, serialize=False)),
                ('since', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddIndex(
            model_name='score',
            index=models.Index(fields=['task', 'value', 'id'], name='scores_score_by_value'),
        ),
        migrations.AddIndex(
            model_name='scorecount',
            index=models.Index(fields=['organization_id', 'span', 'start'], name='scores_scorecount_by_org'),
        ),
        migrations.AddConstraint(
            model_name='scorecount',
            constraint=models.UniqueConstraint(fields=('task_id', 'span', 'start', 'model_id', 'grader_version_id', 'source', 'held_out', 'standing', 'organization_id'), name='scores_scorecount_of'),
        ),
        migrations.RunPython(begin, end),
    ]
