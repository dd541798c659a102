"""The five built-in roles, as data."""

from django.db import migrations

from autotune.access.roles import builtin


def write(apps, schema_editor):
    Role = apps.get_model("access", "Role")
    for name in builtin.BUILT_IN:
        Role.objects.update_or_create(organization=None, name=name, defaults={"permissions": builtin.permissions(name)})


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [migrations.RunPython(write, migrations.RunPython.noop, elidable=False)]
