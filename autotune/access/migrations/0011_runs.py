"""The resource `runs` becomes `workflow_runs`; the built-in roles name the resources of features to come.

Custom roles keep what they allowed. The values are written out here: what a later release changes is its own migration's.
"""

from django.db import migrations

RENAMED = {"runs": "workflow_runs"}
ROLES = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin", "collector")
NEW_ROLE = "collector"
ACTIONS = {"c": "create", "r": "read", "u": "update", "d": "delete"}
TABLE = """
tasks              -         cru organization   r organization    crud organization  crud all  -
completions        -         cr organization    r organization    crd organization   crd all   -
shared_completions r own     -                  -                 r organization     r all     -
scores             r own     r organization     r organization    rd organization    rd all    -
reasoning          r own     r organization     r organization    r organization     r all     -
workflow_runs      r own     ru organization    r organization    rud organization   rud all   -
endpoint_graders   crud own  r organization     r organization    crud organization  crud all  -
listed_graders     -         r all              -                 r all              r all     -
rubric_graders     crud own  cru organization   r organization    crud organization  crud all  -
reviews            r own     cr organization    cru organization  crud organization  crud all  -
feedback           r own     cr organization    cru organization  crud organization  crud all  -
calibration        r own     cr organization    cru organization  crud organization  crud all  -
canary_sets        r own     cr organization    cru organization  crud organization  crud all  -
exports            -         crud organization  -                 crud organization  crud all  -
preference_pairs   -         crud organization  -                 crud organization  crud all  -
rewards            -         crud organization  -                 crud organization  crud all  -
reward_endpoints   -         crud organization  -                 crud organization  crud all  -
evaluations        -         crud organization  r organization    crud organization  crud all  -
reports            -         crud organization  r organization    crud organization  crud all  -
datasets           -         crud organization  r organization    crud organization  crud all  -
experiments        -         crud organization  r organization    crud organization  crud all  -
decks              -         crud organization  r organization    crud organization  crud all  -
telemetry          -         crud organization  r organization    crud organization  crud all  c organization
model_calls        r own     r organization     -                 r organization     r all     -
usage              r own     r organization     -                 r organization     r all     -
providers          -         -                  -                 crud organization  crud all  -
budgets            -         -                  -                 crud organization  crud all  -
alerts             crud own  crud own           crud own          crud organization  crud all  -
notifications      rud own   rud own            rud own           rud own            rud own   -
views              crud own  crud own           crud own          crud own           crud own  -
webhooks           crud own  crud organization  -                 crud organization  crud all  -
keys               crud own  crud own           crud own          crud organization  crud all  -
organizations      -         -                  -                 ru organization    cru all   -
members            -         -                  -                 crud organization  crud all  -
roles              -         -                  -                 crud organization  crud all  -
audit              -         -                  -                 r organization     r all     -
retention          -         -                  -                 crud organization  crud all  -
"""


def built_in(name):
    """The permissions of a built-in role, from the table."""
    permissions = []
    for line in TABLE.strip().splitlines():
        resource, *words = line.split()
        for role in ROLES:
            letters = words.pop(0)
            scope = None if letters == "-" else words.pop(0)
            if role == name and scope:
                actions = [ACTIONS[letter] for letter in letters]
                permissions.append({"resource": resource, "actions": actions, "scope": scope})
    return permissions


def carried_over(permissions):
    """The same permissions with the names that resources have now."""
    return [{**entry, "resource": RENAMED.get(entry["resource"], entry["resource"])} for entry in permissions]


def free_name(name, taken):
    """A name like `name` that is not taken: `collector (custom)`, `collector (custom 2)`, …"""
    number, candidate = 1, f"{name} (custom)"
    while candidate in taken:
        number += 1
        candidate = f"{name} (custom {number})"
    return candidate


def write(apps, schema_editor):
    Role = apps.get_model("access", "Role")
    for role in Role.objects.filter(name=NEW_ROLE).exclude(organization=None):
        # requests name roles by their names, so that no role may have that of a built-in one
        role.name = free_name(role.name, set(Role.objects.filter(organization=role.organization).values_list("name", flat=True)))
        role.save(update_fields=["name"])
    for name in ROLES:
        Role.objects.update_or_create(organization=None, name=name, defaults={"permissions": built_in(name)})
    for role in Role.objects.exclude(organization=None).iterator():
        role.permissions = carried_over(role.permissions)
        role.save(update_fields=["permissions"])


class Migration(migrations.Migration):
    dependencies = [("access", "0010_second_factors")]
    operations = [migrations.RunPython(write, migrations.RunPython.noop, elidable=False)]
