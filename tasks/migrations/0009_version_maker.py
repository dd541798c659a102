"""Who made a version; of the versions that there are, the first of each task is known: its task tells."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill(apps: Any, schema_editor: Any) -> None:
    task, version = apps.get_model("tasks", "Task"), apps.get_model("tasks", "TaskVersion")
    of_task = version.objects.filter(task=OuterRef("task")).order_by("created_at", "pk")
    first = version.objects.filter(pk=Subquery(of_task.values("pk")[:1]))
    maker = task.objects.filter(pk=OuterRef("task")).values("created_by")
    version.objects.filter(pk__in=first.values("pk")).update(created_by=Subquery(maker))


class Migration(migrations.Migration):
    dependencies = [("tasks", "0008_storage"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField(
            model_name="taskversion",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
