"""The unique constraint on members' ids has the name that PostgreSQL gives it in a new table."""

from django.db import migrations

from autotune.core.migration_operations import PostgresSQL

RENAME = "ALTER TABLE access_membership RENAME CONSTRAINT {} TO {}"
NAMES = ("access_membership_uid_fdb8a9aa_uniq", "access_membership_uid_key")


class Migration(migrations.Migration):
    dependencies = [("access", "0012_session_names")]
    operations = [PostgresSQL(RENAME.format(*NAMES), RENAME.format(*reversed(NAMES)))]
