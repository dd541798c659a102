"""The table of what all processes count together (CACHES): the same that `createcachetable` makes."""

from django.core.management import call_command
from django.db import migrations


def make_table(apps, schema_editor):
    call_command("createcachetable", "access_cache", database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):
    dependencies = [("access", "0006_roles")]
    operations = [migrations.RunPython(make_table, migrations.RunPython.noop)]
