"""Tables of tasks, their versions and panels, and completions."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import autotune.core.crypto.fields
import autotune.core.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("access", "0001_initial"),
        ("graders", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Task",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, to="access.organization"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("task", "Task"), ("deck", "Deck")], db_default="task", default="task", max_length=4
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("model_name", models.CharField(blank=True, max_length=200)),
                ("metadata", autotune.core.crypto.fields.EncryptedJSONField(blank=True, default=dict)),
                ("max_attempts", models.PositiveSmallIntegerField(default=5)),
                ("backoff_ms", models.PositiveIntegerField(default=500)),
                ("max_backoff_ms", models.PositiveIntegerField(default=30000)),
                ("deadline_ms", models.PositiveBigIntegerField(default=86400000)),
                ("review_below_confidence", models.FloatField(blank=True, null=True)),
                ("include_dimensions", models.BooleanField(default=True)),
                ("include_explanation", models.BooleanField(default=True)),
                ("use_calibration", models.BooleanField(db_default=False, default=False)),
                ("text_days", models.PositiveIntegerField(blank=True, null=True)),
                ("erased_to", models.UUIDField(blank=True, editable=False, null=True)),
                ("share_text", models.BooleanField(default=False)),
                ("archived", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "name"), name="tasks_task_name"),
                    models.CheckConstraint(condition=models.Q(("kind__in", ["task", "deck"])), name="tasks_task_kind"),
                ],
            },
        ),
        migrations.CreateModel(
            name="TaskVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="access.organization",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="tasks.task",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("content", autotune.core.crypto.fields.EncryptedJSONField()),
                (
                    "aggregation",
                    models.CharField(
                        choices=[
                            ("mean", "Mean"),
                            ("confidence_weighted", "Confidence Weighted"),
                            ("median", "Median"),
                            ("min", "Min"),
                            ("max", "Max"),
                            ("all_or_nothing", "All Or Nothing"),
                        ],
                        default="mean",
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("task", "digest"), name="tasks_version_digest"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "aggregation__in",
                                ["mean", "confidence_weighted", "median", "min", "max", "all_or_nothing"],
                            )
                        ),
                        name="tasks_version_aggregation",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PanelMember",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "task_version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="tasks.taskversion",
                    ),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="graders.grader"
                    ),
                ),
                ("weight", models.FloatField(default=1.0)),
                (
                    "part",
                    models.CharField(
                        choices=[("scoring", "Scoring"), ("shadow", "Shadow")], default="scoring", max_length=7
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("task_version", "grader"), name="tasks_panel_grader"),
                    models.CheckConstraint(
                        condition=models.Q(("part__in", ["scoring", "shadow"])), name="tasks_panel_part"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__gte", 0), ("weight__lte", 1)), name="tasks_panel_weight"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Completion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="access.organization",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="completions",
                        to="tasks.task",
                    ),
                ),
                (
                    "task_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="tasks.taskversion",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("model_id", models.CharField(max_length=200)),
                ("external_id", models.CharField(blank=True, max_length=255, null=True)),
                ("content_digest", models.BinaryField(max_length=32, null=True)),
                ("prompt_digest", models.BinaryField(max_length=16, null=True)),
                ("answer_digest", models.BinaryField(max_length=16, null=True)),
                ("prompt", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("response", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("messages", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("metadata", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("variables", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                (
                    "form",
                    models.CharField(
                        choices=[("prompt", "Prompt"), ("chat", "Chat"), ("tools", "Tools"), ("parts", "Parts")],
                        editable=False,
                        max_length=6,
                        null=True,
                    ),
                ),
                ("priority", models.SmallIntegerField(choices=[(0, "Low"), (1, "Normal"), (2, "High")], default=1)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("manual", "Manual"),
                            ("telemetry", "Telemetry"),
                            ("evaluation", "Evaluation"),
                        ],
                        default="api",
                        max_length=10,
                    ),
                ),
                ("held_out", models.BooleanField(db_default=False, default=False, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("erased_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organization", "id"], name="tasks_completion_by_org"),
                    models.Index(fields=["task", "id"], name="tasks_completion_by_task"),
                    models.Index(
                        condition=models.Q(("source", "evaluation")),
                        fields=["organization", "id"],
                        name="tasks_completion_evaluated",
                    ),
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["task", "prompt_digest"],
                        include=("answer_digest", "id", "form", "source"),
                        name="tasks_completion_by_prompt",
                    ),
                    models.Index(
                        condition=models.Q(
                            models.Q(("prompt_digest", None), ("form", None), _connector="OR"), ("erased_at", None)
                        ),
                        fields=["id"],
                        name="tasks_completion_undigested",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("external_id__isnull", False)),
                        fields=("task", "external_id"),
                        name="tasks_completion_external_id",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["api", "manual", "telemetry", "evaluation"])),
                        name="tasks_completion_source",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("priority__in", [0, 1, 2])), name="tasks_completion_priority"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("form__in", ["prompt", "chat", "tools", "parts"])),
                        name="tasks_completion_form",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="task",
            name="version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tasks.taskversion",
            ),
        ),
    ]
