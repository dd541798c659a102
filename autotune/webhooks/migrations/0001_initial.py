"""Tables of webhooks, events and deliveries."""

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
            name="Event",
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
                        related_name="+",
                        to="access.organization",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("score.completed", "Score Completed"),
                            ("score.failed", "Score Failed"),
                            ("grader.status_changed", "Grader Status Changed"),
                            ("review.requested", "Review Requested"),
                            ("export.completed", "Export Completed"),
                            ("webhook.test", "Test"),
                        ],
                        max_length=40,
                    ),
                ),
                ("subject_id", models.UUIDField(null=True)),
                ("data", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("body", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("fanned_out_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("fanned_out_at", None)), fields=["id"], name="webhooks_event_due"),
                    models.Index(fields=["created_at"], name="webhooks_event_age"),
                    models.Index(
                        condition=models.Q(("subject_id__isnull", False)),
                        fields=["subject_id"],
                        name="webhooks_event_of",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="access.organization"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("url", autotune.core.crypto.fields.EncryptedTextField()),
                ("events", models.JSONField(default=list)),
                ("description", models.TextField(blank=True)),
                ("secret", autotune.core.crypto.fields.EncryptedTextField()),
                ("previous_secret", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("previous_valid_until", models.DateTimeField(blank=True, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("disabled", "Disabled")], default="active", max_length=8
                    ),
                ),
                ("disabled_reason", models.CharField(blank=True, max_length=300)),
                ("own_only", models.BooleanField(default=False)),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "disabled"])), name="webhooks_webhook_status"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="webhooks.webhook",
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="webhooks.event"
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("delivered", "Delivered"), ("parked", "Parked")],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("queued_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("next_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("log", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["webhook", "next_at", "id"],
                        name="webhooks_delivery_next",
                    ),
                    models.Index(fields=["webhook", "-id"], name="webhooks_delivery_recent"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("event", "webhook"), name="webhooks_delivery_once"),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "delivered", "parked"])),
                        name="webhooks_delivery_status",
                    ),
                ],
            },
        ),
    ]
