"""Storage of scores and runs on PostgreSQL, and the triggers that count.

Ciphertext does not compress. Every run changes twice within a second, so dead rows are cleared early.
"""

from typing import Any

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL, UncompressedColumns
from scores.counters import triggers

EARLY = "autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.02"


def create_triggers(apps: Any, schema_editor: Any) -> None:
    """On SQLite the triggers are created after all migrations (scores/counters/migrating.py): later ones recreate tables."""
    if schema_editor.connection.vendor == "postgresql":
        triggers.install(schema_editor.connection)


def drop_triggers(apps: Any, schema_editor: Any) -> None:
    triggers.drop(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("scores", "0001_initial")]
    operations = [
        UncompressedColumns("scores_score", "reasoning", "details"),
        UncompressedColumns("scores_review", "reasoning", "explanation", "details"),
        UncompressedColumns("scores_workflowrun", "error_message"),
        UncompressedColumns("scores_legalhold", "reason"),
        PostgresSQL(
            f"ALTER TABLE scores_workflowrun SET ({EARLY}, fillfactor=80)",
            "ALTER TABLE scores_workflowrun RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay,"
            " autovacuum_analyze_scale_factor, fillfactor)",
        ),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
