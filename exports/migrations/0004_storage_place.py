"""Store which folder holds an export's files, for installations of several machines without a shared folder."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exports", "0003_storage")]
    operations = [
        migrations.AddField("export", "storage_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("export", "storage_host", models.CharField(blank=True, default="", max_length=64)),
    ]
