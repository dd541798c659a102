"""What migrations need around them: on SQLite a table is made anew to be altered, without its triggers."""

from typing import Any

from django.db import connections, transaction

from scores.counters import triggers

_REMADE = ("scores", "tasks")  # apps whose tables have triggers, or are named in one


def before(using: str, plan: Any, **_: Any) -> None:
    """Take the triggers away where a migration might have to remake their tables."""
    connection = connections[using]
    if connection.vendor == "postgresql" or not any(migration.app_label in _REMADE for migration, _ in plan):
        return
    if _has_counters(connection):
        triggers.drop(connection)


def after(using: str, **_: Any) -> None:
    """Make them again where any is missing; what was written without them is counted anew."""
    from scores.models import UncountedTask
    from tasks.models import Task

    connection = connections[using]
    if not _has_counters(connection) or not triggers.missing(connection):
        return
    with transaction.atomic(using=using):
        triggers.install(connection)
        rows = (UncountedTask(task_id=task_id) for task_id in Task.objects.using(using).values_list("pk", flat=True))
        UncountedTask.objects.using(using).bulk_create(rows, ignore_conflicts=True)


def _has_counters(connection: Any) -> bool:
    return {"scores_scoretally", "scores_tasktally", "scores_uncountedtask"} <= set(
        connection.introspection.table_names()
    )
