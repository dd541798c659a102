"""The table of feedback."""

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
        ("scores", "0001_initial"),
        ("tasks", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Feedback",
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
                    "completion",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="feedback",
                        to="tasks.completion",
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
                    "rater",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="feedback",
                        to="scores.review",
                    ),
                ),
                ("value", models.FloatField(blank=True, null=True)),
                ("raw_value", models.FloatField(blank=True, null=True)),
                ("explanation", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                (
                    "source_kind",
                    models.CharField(
                        choices=[("human", "Human"), ("owner", "Owner"), ("model", "Model"), ("import", "Import")],
                        default="human",
                        max_length=6,
                    ),
                ),
                ("label_policy", models.CharField(blank=True, default="", max_length=200)),
                ("blind", models.BooleanField(default=False)),
                ("anchored", models.BooleanField(default=False)),
                ("adjudicated", models.BooleanField(default=False)),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "feedback",
                "indexes": [
                    models.Index(fields=["completion"], name="feedback_by_completion"),
                    models.Index(fields=["organization", "id"], name="feedback_by_org"),
                    models.Index(fields=["grader", "id"], name="feedback_by_grader"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("replaced_at", None)),
                        fields=("completion", "grader", "rater"),
                        name="feedback_current",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("raw_value", None), ("value", None)),
                            models.Q(
                                ("raw_value__isnull", False),
                                ("value__gte", 0),
                                ("value__isnull", False),
                                ("value__lte", 1),
                            ),
                            _connector="OR",
                        ),
                        name="feedback_value",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source_kind__in", ["human", "owner", "model", "import"])),
                        name="feedback_source_kind",
                    ),
                ],
            },
        ),
    ]
