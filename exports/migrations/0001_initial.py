"""Tables of exports and their files."""

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
            name="Export",
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
                    "api_key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("reach", models.CharField(default="organization", max_length=12)),
                ("query", models.JSONField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("withdrawn", "Withdrawn"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("expected", models.PositiveBigIntegerField(blank=True, null=True)),
                ("dimensions", models.JSONField(blank=True, null=True)),
                ("rows", models.PositiveBigIntegerField(default=0)),
                ("left_out", models.PositiveBigIntegerField(default=0)),
                ("left_out_by_reason", models.JSONField(default=dict)),
                ("bytes", models.PositiveBigIntegerField(default=0)),
                ("cursor", models.CharField(blank=True, default="", max_length=64)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("erasure_count", models.PositiveBigIntegerField(default=0)),
                ("purged_to", models.UUIDField(blank=True, null=True)),
                ("file_key", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("storage_id", models.UUIDField(blank=True, null=True)),
                ("storage_host", models.CharField(blank=True, default="", max_length=64)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("metadata", models.JSONField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("error_message", models.CharField(blank=True, default="", max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["organization", "id"], name="exports_export_by_org"),
                    models.Index(
                        condition=models.Q(("status__in", ("pending", "running"))),
                        fields=["id"],
                        name="exports_export_open",
                    ),
                    models.Index(
                        condition=models.Q(("status", "completed")),
                        fields=["expires_at"],
                        name="exports_export_expiring",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ["pending", "running", "completed", "failed", "cancelled", "withdrawn", "expired"],
                            )
                        ),
                        name="exports_export_status",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ExportFile",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "export",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="exports.export",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("data", "Data"), ("metadata", "Metadata"), ("manifest", "Manifest")],
                        default="data",
                        max_length=8,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=100)),
                ("stored_as", models.CharField(max_length=200)),
                ("rows", models.PositiveBigIntegerField(default=0)),
                ("bytes", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("first", models.UUIDField(blank=True, null=True)),
                ("last", models.UUIDField(blank=True, null=True)),
                ("facts", models.JSONField(blank=True, null=True)),
                ("values", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("export", "kind", "number"), name="exports_file_number")
                ],
            },
        ),
    ]
