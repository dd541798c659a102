"""Tables of data keys, master keys, re-encryption and damaged values."""

from django.db import migrations, models

import autotune.core.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="MasterKey",
            fields=[
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("check_value", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Reencryption",
            fields=[
                ("column", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField(default=1)),
                ("cursor", models.CharField(blank=True, max_length=40)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("stale", models.BigIntegerField(default=0)),
                ("unreadable", models.BigIntegerField(default=0)),
                ("rewritten", models.BigIntegerField(default=0)),
                ("settled_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "re-encryption",
            },
        ),
        migrations.CreateModel(
            name="DamagedValue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table", models.CharField(max_length=64)),
                ("column", models.CharField(max_length=64)),
                ("row", models.UUIDField()),
                ("seen_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("table", "column", "row"), name="core_damagedvalue_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="DataKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("scope", models.UUIDField()),
                ("period", models.CharField(max_length=8)),
                ("wrapping_key", models.CharField(max_length=64)),
                ("wrapped", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("retired_at", None)), fields=("scope", "period"), name="core_datakey_in_use"
                    )
                ],
            },
        ),
    ]
