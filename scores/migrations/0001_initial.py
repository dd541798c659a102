"""Tables of workflow runs, scores, rewards, reviews, live rewards, erasures and counters."""

import datetime

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
        ("tasks", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Pulse",
            fields=[
                ("name", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="ScoreTally",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organization_id", models.UUIDField()),
                ("task_id", models.UUIDField()),
                ("model_id", models.CharField(max_length=200)),
                ("grader_version_id", models.UUIDField()),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("manual", "Manual"),
                            ("telemetry", "Telemetry"),
                            ("evaluation", "Evaluation"),
                        ],
                        max_length=10,
                    ),
                ),
                ("held_out", models.BooleanField(db_default=False, default=False)),
                ("standing", models.SmallIntegerField(choices=[(0, "Counts"), (1, "Listed"), (2, "Deleted")])),
                ("hour", models.DateTimeField()),
                ("sign", models.SmallIntegerField()),
                ("units", models.JSONField()),
            ],
            options={
                "verbose_name_plural": "score tallies",
            },
        ),
        migrations.CreateModel(
            name="TaskCount",
            fields=[
                ("task_id", models.UUIDField(primary_key=True, serialize=False)),
                ("completions", models.BigIntegerField(db_default=0, default=0)),
                ("rewarded", models.BigIntegerField(db_default=0, default=0)),
                ("unrewarded", models.BigIntegerField(db_default=0, default=0)),
                ("reward_high", models.BigIntegerField(db_default=0, default=0)),
                ("reward_low", models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="TaskTally",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("completions", models.BigIntegerField(db_default=0, default=0)),
                ("rewarded", models.BigIntegerField(db_default=0, default=0)),
                ("unrewarded", models.BigIntegerField(db_default=0, default=0)),
                ("reward_high", models.BigIntegerField(db_default=0, default=0)),
                ("reward_low", models.BigIntegerField(db_default=0, default=0)),
                ("task_id", models.UUIDField()),
            ],
            options={
                "verbose_name_plural": "task tallies",
            },
        ),
        migrations.CreateModel(
            name="UncountedTask",
            fields=[
                ("task_id", models.UUIDField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Callback",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.grader",
                    ),
                ),
                (
                    "grader_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.graderversion",
                    ),
                ),
                ("token_digest", models.BinaryField(max_length=32, unique=True)),
                ("request_id", models.CharField(max_length=64)),
                ("signature", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=5)),
                ("include_dimensions", models.BooleanField()),
                ("include_explanation", models.BooleanField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="ScoreCount",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("organization_id", models.UUIDField()),
                ("task_id", models.UUIDField()),
                ("model_id", models.CharField(max_length=200)),
                ("grader_version_id", models.UUIDField()),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("manual", "Manual"),
                            ("telemetry", "Telemetry"),
                            ("evaluation", "Evaluation"),
                        ],
                        max_length=10,
                    ),
                ),
                ("held_out", models.BooleanField(db_default=False, default=False)),
                ("standing", models.SmallIntegerField(choices=[(0, "Counts"), (1, "Listed"), (2, "Deleted")])),
                ("span", models.SmallIntegerField(choices=[(0, "Ever"), (1, "Day"), (2, "Hour")])),
                ("start", models.DateTimeField()),
                ("number", models.BigIntegerField()),
                ("total_0", models.BigIntegerField()),
                ("total_1", models.BigIntegerField()),
                ("squares_0", models.BigIntegerField()),
                ("squares_1", models.BigIntegerField()),
                ("squares_2", models.BigIntegerField()),
                ("squares_3", models.BigIntegerField()),
                ("bins", models.JSONField()),
            ],
            options={
                "indexes": [models.Index(fields=["organization_id", "span", "start"], name="scores_scorecount_by_org")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            "task_id",
                            "span",
                            "start",
                            "model_id",
                            "grader_version_id",
                            "source",
                            "held_out",
                            "standing",
                            "organization_id",
                        ),
                        name="scores_scorecount_of",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkflowRun",
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
                    "completion",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="tasks.completion"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.grader",
                    ),
                ),
                (
                    "grader_version",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="graders.graderversion",
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("score", "Score"),
                            ("shadow", "Shadow"),
                            ("canary", "Canary"),
                            ("impact", "Impact"),
                            ("gold", "Gold"),
                        ],
                        db_default="score",
                        default="score",
                        max_length=6,
                    ),
                ),
                ("panel_size", models.PositiveSmallIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("sleeping", "Sleeping"),
                            ("waiting", "Waiting"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                (
                    "priority",
                    models.SmallIntegerField(
                        choices=[(-1, "Background"), (0, "Low"), (1, "Normal"), (2, "High")], default=1
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("wake_at", models.DateTimeField(blank=True, null=True)),
                ("deadline_at", models.DateTimeField()),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("error_message", autotune.core.crypto.fields.EncryptedNoteField(blank=True, null=True)),
                ("error_repeats", models.PositiveSmallIntegerField(default=0)),
                (
                    "waits_for",
                    models.CharField(
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
                ("reuses", models.UUIDField(blank=True, null=True)),
                ("generation", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("steps", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["grader", "-priority", "id"],
                        name="scores_run_due",
                    ),
                    models.Index(
                        condition=models.Q(("priority__lte", -1), ("status", "pending")),
                        fields=["grader", "-priority", "id"],
                        name="scores_run_background",
                    ),
                    models.Index(
                        condition=models.Q(("status", "running")), fields=["leased_until"], name="scores_run_leased"
                    ),
                    models.Index(
                        condition=models.Q(("status", "sleeping")), fields=["wake_at"], name="scores_run_sleeping"
                    ),
                    models.Index(
                        condition=models.Q(("panel_size__gt", 1)), fields=["completed_at"], name="scores_run_panels"
                    ),
                    models.Index(
                        condition=models.Q(("status", "waiting")), fields=["wake_at"], name="scores_run_waiting"
                    ),
                    models.Index(
                        condition=models.Q(("status", "waiting"), ("waits_for", "reuse")),
                        fields=["reuses", "id"],
                        name="scores_run_reusing",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("status__in", ("sleeping", "waiting")),
                            ("wake_at__gt", datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)),
                        ),
                        fields=["grader", "wake_at"],
                        name="scores_run_resting",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deadline_at__gt", datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)),
                            ("status__in", ("pending", "sleeping")),
                        ),
                        fields=["deadline_at"],
                        name="scores_run_overdue",
                    ),
                    models.Index(fields=["organization", "id"], name="scores_run_by_org"),
                    models.Index(
                        condition=models.Q(("status", "failed")),
                        fields=["organization", "error_code", "id"],
                        name="scores_run_failed",
                    ),
                    models.Index(
                        condition=models.Q(("status", "failed")), fields=["completed_at"], name="scores_run_failed_at"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["pending", "running", "sleeping", "waiting", "completed", "failed"])
                        ),
                        name="scores_run_status",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("panel_size__gt", 0), ("priority__gt", -1), ("purpose", "score")),
                            models.Q(("panel_size", 0), ("priority__gt", -1), ("purpose", "shadow")),
                            models.Q(
                                ("panel_size", 0), ("priority", -1), ("purpose__in", ("canary", "impact", "gold"))
                            ),
                            _connector="OR",
                        ),
                        name="scores_run_purpose",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Score",
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
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="score", to="scores.workflowrun"
                    ),
                ),
                (
                    "completion",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="scores",
                        to="tasks.completion",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.grader",
                    ),
                ),
                (
                    "grader_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.graderversion",
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("score", "Score"),
                            ("shadow", "Shadow"),
                            ("canary", "Canary"),
                            ("impact", "Impact"),
                            ("gold", "Gold"),
                        ],
                        db_default="score",
                        default="score",
                        max_length=6,
                    ),
                ),
                ("value", models.FloatField()),
                ("confidence", models.FloatField()),
                ("raw_value", models.FloatField()),
                ("calibrated_value", models.FloatField(blank=True, null=True)),
                ("calibrated_map_id", models.UUIDField(blank=True, null=True)),
                ("reasoning", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("details", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("dimensions", models.JSONField(null=True)),
                ("superseded", models.BooleanField(db_default=False, default=False)),
                ("reused_from", models.UUIDField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("manual", "Manual"),
                            ("telemetry", "Telemetry"),
                            ("evaluation", "Evaluation"),
                        ],
                        db_default="api",
                        default="api",
                        max_length=10,
                    ),
                ),
                ("held_out", models.BooleanField(db_default=False, default=False)),
                (
                    "reviewed_by",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["organization", "id"],
                        name="scores_score_by_org",
                    ),
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["task", "id"],
                        name="scores_score_by_task",
                    ),
                    models.Index(fields=["grader", "id"], name="scores_score_by_grader"),
                    models.Index(
                        condition=models.Q(("source", "evaluation")),
                        fields=["organization", "id"],
                        name="scores_score_evaluated",
                    ),
                    models.Index(
                        condition=models.Q(("reused_from__isnull", False)),
                        fields=["completion"],
                        name="scores_score_reused",
                    ),
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["task", "value", "id"],
                        name="scores_score_by_value",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["score", "shadow", "canary", "impact", "gold"])),
                        name="scores_score_purpose",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("value__gte", 0), ("value__lte", 1)), name="scores_score_value"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="scores_score_confidence",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("calibrated_map_id", None), ("calibrated_value", None)),
                            models.Q(
                                ("calibrated_map_id__isnull", False),
                                ("calibrated_value__gte", 0),
                                ("calibrated_value__isnull", False),
                                ("calibrated_value__lte", 1),
                            ),
                            _connector="OR",
                        ),
                        name="scores_score_calibrated",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
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
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="scores.workflowrun"
                    ),
                ),
                (
                    "completion",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="tasks.completion"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tasks.task"
                    ),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.grader",
                    ),
                ),
                (
                    "grader_version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="graders.graderversion",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("expired", "Expired"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="open",
                        max_length=9,
                    ),
                ),
                ("value", models.FloatField()),
                ("raw_value", models.FloatField(blank=True, null=True)),
                ("confidence", models.FloatField()),
                ("reasoning", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("details", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("dimensions", models.JSONField(null=True)),
                (
                    "claimed_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decided_value", models.FloatField(blank=True, null=True)),
                ("decided_raw_value", models.FloatField(blank=True, null=True)),
                ("explanation", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("expires_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organization", "id"], name="scores_review_by_org"),
                    models.Index(
                        condition=models.Q(("status", "open")), fields=["expires_at"], name="scores_review_open"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "approved", "rejected", "expired", "cancelled"])),
                        name="scores_review_status",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")), fields=("run",), name="scores_review_of_run"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CallbackItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "callback",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="scores.callback"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="scores.workflowrun",
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("body_digest", models.BinaryField(max_length=32, null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["run"], name="scores_callback_item_run")],
                "constraints": [models.UniqueConstraint(fields=("callback", "run"), name="scores_callback_item")],
            },
        ),
        migrations.CreateModel(
            name="Erasure",
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
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "completion",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.completion",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
                ("model_id", models.CharField(blank=True, max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("running", "Running"), ("completed", "Completed")],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("cursor", models.UUIDField(blank=True, null=True)),
                ("erased", models.PositiveIntegerField(default=0)),
                ("held", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organization", "id"], name="scores_erasure_by_org"),
                    models.Index(
                        condition=models.Q(("status", "completed"), _negated=True),
                        fields=["id"],
                        name="scores_erasure_open",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LegalHold",
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
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "completion",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.completion",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
                ("model_id", models.CharField(blank=True, max_length=200)),
                ("reason", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("released_at", models.DateTimeField(blank=True, null=True)),
                (
                    "released_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["organization", "id"], name="scores_hold_by_org")],
            },
        ),
        migrations.CreateModel(
            name="LiveAnswer",
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
                    "task_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.taskversion",
                    ),
                ),
                ("model_id", models.CharField(max_length=200)),
                ("answer_digest", models.BinaryField(max_length=32)),
                (
                    "completion",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.completion",
                    ),
                ),
                ("replaces", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("task_version", "answer_digest", "model_id"), name="scores_live_answer"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("replaces__isnull", False)),
                        fields=("task_version", "answer_digest", "replaces"),
                        name="scores_live_judged",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reward",
            fields=[
                (
                    "completion",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="reward",
                        serialize=False,
                        to="tasks.completion",
                    ),
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tasks.task",
                    ),
                ),
                ("value", models.FloatField(null=True)),
                ("uncalibrated_value", models.FloatField(blank=True, null=True)),
                ("confidence", models.FloatField(null=True)),
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
                        max_length=20,
                    ),
                ),
                ("used", models.PositiveSmallIntegerField()),
                ("failed", models.PositiveSmallIntegerField()),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("manual", "Manual"),
                            ("telemetry", "Telemetry"),
                            ("evaluation", "Evaluation"),
                        ],
                        db_default="api",
                        default="api",
                        max_length=10,
                    ),
                ),
                ("held_out", models.BooleanField(db_default=False, default=False)),
                ("scored_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["organization", "completion"],
                        name="scores_reward_by_org",
                    ),
                    models.Index(
                        condition=models.Q(("held_out", False), ("source__in", ("api", "manual", "telemetry"))),
                        fields=["task", "completion"],
                        name="scores_reward_by_task",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("error_code", ""), ("value__isnull", False)),
                            models.Q(("value", None), models.Q(("error_code", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="scores_reward_value_or_error",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RewardEndpoint",
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
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tasks.task"),
                ),
                (
                    "protocol",
                    models.CharField(
                        choices=[
                            ("openrlhf", "Openrlhf"),
                            ("slime", "Slime"),
                            ("verify", "Verify"),
                            ("foundry", "Foundry"),
                        ],
                        max_length=8,
                    ),
                ),
                ("model_id", models.CharField(max_length=200)),
                (
                    "unscored",
                    models.CharField(
                        choices=[("hold", "Hold"), ("neutral", "Neutral"), ("error", "Error")], max_length=7
                    ),
                ),
                ("neutral_value", models.FloatField(blank=True, null=True)),
                (
                    "without_text",
                    models.CharField(
                        choices=[("unscored", "Unscored"), ("empty", "Empty"), ("strict", "Strict")],
                        db_default="unscored",
                        default="unscored",
                        max_length=8,
                    ),
                ),
                ("deadline_ms", models.PositiveIntegerField()),
                ("token_digest", models.BinaryField(max_length=32, unique=True)),
                ("enabled", models.BooleanField(default=True)),
                ("answered", models.PositiveBigIntegerField(default=0)),
                ("unscored_count", models.PositiveBigIntegerField(default=0)),
                ("without_text_count", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "indexes": [models.Index(fields=["organization", "id"], name="scores_endpoint_by_org")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("protocol__in", ["openrlhf", "slime", "verify", "foundry"])),
                        name="scores_endpoint_protocol",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("unscored__in", ["hold", "neutral", "error"])),
                        name="scores_endpoint_unscored",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("without_text__in", ["unscored", "empty", "strict"])),
                        name="scores_endpoint_without_text",
                    ),
                ],
            },
        ),
    ]
