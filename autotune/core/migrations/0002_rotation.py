"""Data keys can be retired, and re-encryption says how far it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]
    operations = [
        migrations.AddField("DataKey", "retired_at", models.DateTimeField(null=True, blank=True)),
        migrations.RemoveConstraint("DataKey", "core_datakey_scope_period"),
        migrations.AddConstraint(
            "DataKey",
            models.UniqueConstraint(
                fields=["scope", "period"], condition=models.Q(retired_at=None), name="core_datakey_in_use"
            ),
        ),
        migrations.CreateModel(
            name="Reencryption",
            fields=[
                ("column", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField(default=1)),
                ("cursor", models.CharField(blank=True, max_length=40)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("found", models.BigIntegerField(default=0)),
                ("unreadable", models.BigIntegerField(default=0)),
                ("rewritten", models.BigIntegerField(default=0)),
                ("settled_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("began_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={"verbose_name": "re-encryption"},
        ),
    ]
