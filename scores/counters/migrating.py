"""Triggers around migrations: to alter a table on SQLite, Django recreates it without its triggers."""

from typing import Any

from django.db import connections, transaction

from scores.counters import triggers

_APPS = ("scores", "tasks")  # apps whose tables have triggers, or are named in a trigger


def drop_triggers(using: str, plan: Any, **_: Any) -> None:
    """Drop the triggers if a migration might recreate their tables."""
    connection = connections[using]
    if connection.vendor == "postgresql" or not any(migration.app_label in _APPS for migration, _ in plan):
        return
    if _has_counters(connection):
        triggers.drop(connection)


def restore_triggers(using: str, **_: Any) -> None:
    """Create the triggers again if any is missing, and have all counters rebuilt, which missed rows until now."""
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
