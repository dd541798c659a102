"""The resource `runs` becomes `workflow_runs`, in built-in and custom roles; they allow what they allowed."""

from django.db import migrations

RENAMED = {"runs": "workflow_runs"}


def carried_over(permissions):
    """The same permissions with the names that resources have now."""
    return [{**entry, "resource": RENAMED.get(entry["resource"], entry["resource"])} for entry in permissions]


def write(apps, schema_editor):
    for role in apps.get_model("access", "Role").objects.iterator():
        role.permissions = carried_over(role.permissions)
        role.save(update_fields=["permissions"])


class Migration(migrations.Migration):
    dependencies = [("access", "0010_second_factors")]
    operations = [migrations.RunPython(write, migrations.RunPython.noop, elidable=False)]
