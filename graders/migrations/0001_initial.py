"""Tables of graders, their versions, secrets, checks and statistics."""

import uuid

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
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Grader",
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
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("endpoint", "Endpoint"), ("rubric", "Rubric")], default="endpoint", max_length=8
                    ),
                ),
                ("endpoint", models.CharField(blank=True, max_length=2048)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("inactive", "Inactive"), ("degraded", "Degraded")],
                        default="inactive",
                        max_length=8,
                    ),
                ),
                (
                    "visibility",
                    models.CharField(
                        choices=[("private", "Private"), ("listed", "Listed")], default="private", max_length=7
                    ),
                ),
                ("max_batch_size", models.PositiveSmallIntegerField(default=1)),
                ("supports_dimensions", models.BooleanField(default=False)),
                ("supports_explanations", models.BooleanField(default=False)),
                ("supports_async", models.BooleanField(default=False)),
                ("avg_latency_ms", models.PositiveIntegerField(default=1000)),
                ("domains", models.JSONField(blank=True, default=list)),
                ("rate_per_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("max_concurrency", models.PositiveSmallIntegerField(default=16)),
                ("timeout_ms", models.PositiveIntegerField(default=4000)),
                ("batch_timeout_ms", models.PositiveIntegerField(default=30000)),
                ("pins", models.JSONField(blank=True, default=list)),
                ("redact_reasoning", models.BooleanField(db_default=False, default=False)),
                ("redact_dimensions", models.BooleanField(db_default=False, default=False)),
                ("switched_off", models.BooleanField(default=False)),
                ("troubles", models.JSONField(blank=True, default=list)),
                ("held_until", models.DateTimeField(blank=True, null=True)),
                ("held_reason", models.CharField(blank=True, max_length=32)),
                ("health", models.CharField(blank=True, max_length=16)),
                ("health_repeats", models.PositiveSmallIntegerField(default=0)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("auth_failures", models.PositiveSmallIntegerField(default=0)),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                ("gone_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("visibility", "listed")), fields=["visibility"], name="graders_listed"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)),
                        fields=("organization", "name"),
                        name="graders_grader_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "inactive", "degraded"])),
                        name="graders_grader_status",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["endpoint", "rubric"])), name="graders_grader_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["private", "listed"])), name="graders_grader_visibility"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version_id", models.UUIDField(default=uuid.UUID("00000000-0000-0000-0000-000000000000"))),
                ("scored", models.PositiveIntegerField(default=0)),
                ("value_sum", models.FloatField(default=0.0)),
                ("histogram", models.JSONField(default=list)),
                ("latency_sum_ms", models.FloatField(default=0.0)),
                ("latencies", models.JSONField(default=dict)),
                ("errors", models.JSONField(default=dict)),
                ("grader_id", models.UUIDField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "tallies",
            },
        ),
        migrations.CreateModel(
            name="GraderGuard",
            fields=[
                (
                    "grader",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="guard",
                        serialize=False,
                        to="graders.grader",
                    ),
                ),
                ("state", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="GraderStatusChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("uid", models.UUIDField(default=autotune.core.ids.new, editable=False)),
                (
                    "grader",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="status_changes", to="graders.grader"
                    ),
                ),
                ("previous", models.CharField(max_length=8)),
                ("current", models.CharField(max_length=8)),
                ("reason", autotune.core.crypto.fields.EncryptedNoteField(blank=True, null=True, row="uid")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="GraderVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "grader",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="graders.grader"
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("scale_min", models.FloatField(db_default=0.0, default=0.0)),
                ("scale_max", models.FloatField(db_default=1.0, default=1.0)),
                ("first_seen_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("grader", "label"), name="graders_version_label"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scale_max__lte", 1.7976931348623157e308),
                            ("scale_min__gte", -1.7976931348623157e308),
                            ("scale_min__lt", models.F("scale_max")),
                        ),
                        name="graders_version_scale",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GraderCheck",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("uid", models.UUIDField(default=autotune.core.ids.new, editable=False)),
                (
                    "grader",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checks",
                        to="graders.grader",
                    ),
                ),
                ("name", models.CharField(max_length=32)),
                ("passed", models.BooleanField()),
                ("detail", autotune.core.crypto.fields.EncryptedNoteField(blank=True, null=True, row="uid")),
                ("latency_ms", models.FloatField(null=True)),
                ("clock_skew_s", models.FloatField(null=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["grader", "-id"], name="graders_check_recent")],
            },
        ),
        migrations.CreateModel(
            name="GraderHour",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version_id", models.UUIDField(default=uuid.UUID("00000000-0000-0000-0000-000000000000"))),
                ("scored", models.PositiveIntegerField(default=0)),
                ("value_sum", models.FloatField(default=0.0)),
                ("histogram", models.JSONField(default=list)),
                ("latency_sum_ms", models.FloatField(default=0.0)),
                ("latencies", models.JSONField(default=dict)),
                ("errors", models.JSONField(default=dict)),
                (
                    "grader",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hours",
                        to="graders.grader",
                    ),
                ),
                ("start", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("grader", "start", "version_id"), name="graders_hour")],
            },
        ),
        migrations.CreateModel(
            name="GraderSecret",
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
                    "grader",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="secrets", to="graders.grader"
                    ),
                ),
                ("secret", autotune.core.crypto.fields.EncryptedTextField()),
                ("current", models.BooleanField(default=True)),
                ("confirmed", models.BooleanField(default=False)),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("current", True)), fields=("grader",), name="graders_one_current_secret"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GraderStatistic",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version_id", models.UUIDField(default=uuid.UUID("00000000-0000-0000-0000-000000000000"))),
                ("scored", models.PositiveIntegerField(default=0)),
                ("value_sum", models.FloatField(default=0.0)),
                ("histogram", models.JSONField(default=list)),
                ("latency_sum_ms", models.FloatField(default=0.0)),
                ("latencies", models.JSONField(default=dict)),
                ("errors", models.JSONField(default=dict)),
                (
                    "grader",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="statistics",
                        to="graders.grader",
                    ),
                ),
                ("start", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("grader", "start", "version_id"), name="graders_statistic")
                ],
            },
        ),
        migrations.AddField(
            model_name="grader",
            name="version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="graders.graderversion",
            ),
        ),
    ]
