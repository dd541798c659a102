"""Sessions whose keys and members cannot be read from the table, and secrets of second factors that are re-encrypted."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import autotune.core.crypto.fields
import autotune.core.ids
from autotune.core.migration_operations import PostgresSQL


class Migration(migrations.Migration):
    dependencies = [("access", "0008_storage"), ("core", "0002_rotation")]
    operations = [
        migrations.CreateModel(
            name="WebSession",
            fields=[
                ("id", models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False)),
                ("key_digest", models.BinaryField(max_length=32, unique=True)),
                ("data", models.BinaryField()),
                ("password_mark", models.CharField(blank=True, max_length=64)),
                ("address", models.GenericIPAddressField(null=True)),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"verbose_name": "session"},
        ),
        migrations.CreateModel(
            name="SecondFactorSecret",
            fields=[
                ("id", models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False)),
                ("secret", autotune.core.crypto.fields.EncryptedTextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        PostgresSQL(
            ["ALTER TABLE access_secondfactorsecret ALTER COLUMN secret SET STORAGE EXTERNAL"],
            ["ALTER TABLE access_secondfactorsecret ALTER COLUMN secret SET STORAGE EXTENDED"],
        ),
    ]  # fmt: skip
