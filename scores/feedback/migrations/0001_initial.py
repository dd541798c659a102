import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import autotune.core.crypto.fields
from autotune.core.migration_operations import PostgresSQL
import autotune.core.ids

SOURCE_KINDS = ["human", "owner", "model", "import"]


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ("access", "0010_second_factors"),
        ("graders", "0006_hours"),
        ("scores", "0012_counters"),
        ("tasks", "0010_forms"),
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
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="access.organization",
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
                        condition=models.Q(replaced_at=None),
                        fields=["completion", "grader", "rater"],
                        name="feedback_current",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(value=None, raw_value=None)
                        | models.Q(value__isnull=False, value__gte=0, value__lte=1, raw_value__isnull=False),
                        name="feedback_value",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(source_kind__in=SOURCE_KINDS), name="feedback_source_kind"
                    ),
                ],
            },
        ),
        PostgresSQL(  # ciphertext does not compress
            ["ALTER TABLE feedback_feedback ALTER COLUMN explanation SET STORAGE EXTERNAL"],
            ["ALTER TABLE feedback_feedback ALTER COLUMN explanation SET STORAGE EXTENDED"],
        ),
    ]
