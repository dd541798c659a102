"""Ciphertext does not compress; and every run changes twice within a second, so dead rows are cleared early."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

EARLY = "autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.02"


class Migration(migrations.Migration):
    dependencies = [("scores", "0001_initial")]
    operations = [
        PostgresSQL(
            "ALTER TABLE scores_score ALTER COLUMN reasoning SET STORAGE EXTERNAL",
            "ALTER TABLE scores_score ALTER COLUMN reasoning SET STORAGE EXTENDED",
        ),
        PostgresSQL(
            f"ALTER TABLE scores_workflowrun SET ({EARLY}, fillfactor=80)",
            "ALTER TABLE scores_workflowrun RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay,"
            " autovacuum_analyze_scale_factor, fillfactor)",
        ),
    ]
