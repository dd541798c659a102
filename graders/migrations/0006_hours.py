"""Statistics by the hour beside those of five minutes, filled from them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import django.db.models.deletion
from django.db import migrations, models

AT_ONCE = 500  # rows written by one statement
Key = tuple[UUID, datetime]


def fill(apps: Any, schema_editor: Any) -> None:
    """An hour's row is the sum of its statistics; a day that is one row already stays one. Exact, grader by grader."""
    fine, hours = apps.get_model("graders", "GraderStatistic"), apps.get_model("graders", "GraderHour")
    for grader_id in fine.objects.order_by().values_list("grader_id", flat=True).distinct():
        made: list[Any] = []
        for row in _hours(hours, fine.objects.filter(grader_id=grader_id).order_by("start")):
            made.append(row)
            if len(made) == AT_ONCE:
                hours.objects.bulk_create(made)
                made = []
        hours.objects.bulk_create(made)


def _hours(hours: Any, statistics: Any) -> Iterator[Any]:
    """The rows of hours that these statistics of one grader, in the order of time, add up to."""
    begun: dict[Key, Any] = {}
    for one in statistics.iterator(chunk_size=AT_ONCE):
        start = one.start.replace(minute=0, second=0, microsecond=0)
        if begun and (one.version_id, start) not in begun and next(iter(begun))[1] != start:
            yield from begun.values()
            begun = {}
        hour = begun.setdefault(
            (one.version_id, start),
            hours(grader_id=one.grader_id, version_id=one.version_id, start=start, histogram=[0] * 10),
        )
        _add(hour, one)
    yield from begun.values()


def _add(hour: Any, one: Any) -> None:
    hour.scored += one.scored
    hour.value_sum += one.value_sum
    hour.latency_sum_ms += one.latency_sum_ms
    hour.histogram = [sum(pair) for pair in zip(hour.histogram, one.histogram or [0] * 10, strict=True)]
    for sums, counts in ((hour.latencies, one.latencies), (hour.errors, one.errors)):
        for key, count in counts.items():
            sums[key] = sums.get(key, 0) + count


class Migration(migrations.Migration):
    dependencies = [("graders", "0005_storage")]
    operations = [
        migrations.CreateModel(
            name="GraderHour",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version_id", models.UUIDField(default=UUID(int=0))),
                ("start", models.DateTimeField()),
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
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("grader", "start", "version_id"), name="graders_hour")],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
