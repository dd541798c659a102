"""The five built-in roles over the resources as they are now; custom roles keep what they allowed.

The values are written out here: what a release after this one changes is its own migration's.
"""

from django.db import migrations, models

ROLES = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin")
ACTIONS = {"c": "create", "r": "read", "u": "update", "d": "delete"}
TABLE = """
tasks              -         cru organization   r organization    crud organization  crud all
completions        -         cr organization    r organization    crd organization   crd all
shared_completions r own     -                  -                 r organization     r all
scores             r own     r organization     r organization    rd organization    rd all
reasoning          r own     r organization     r organization    r organization     r all
runs               r own     ru organization    r organization    rud organization   rud all
endpoint_graders   crud own  r organization     r organization    crud organization  crud all
listed_graders     -         r all              -                 -                  r all
rubric_graders     crud own  cru organization   r organization    crud organization  crud all
reviews            r own     cr organization    cru organization  crud organization  crud all
feedback           r own     cr organization    cru organization  crud organization  crud all
exports            -         crud organization  -                 crud organization  crud all
preference_pairs   -         crud organization  -                 crud organization  crud all
rewards            -         crud organization  -                 crud organization  crud all
reward_endpoints   -         crud organization  -                 crud organization  crud all
evaluations        -         crud organization  r organization    crud organization  crud all
reports            -         crud organization  r organization    crud organization  crud all
decks              -         crud organization  r organization    crud organization  crud all
telemetry          -         crud organization  r organization    crud organization  crud all
model_calls        r own     r organization     -                 r organization     r all
usage              r own     r organization     -                 r organization     r all
providers          -         -                  -                 crud organization  crud all
budgets            -         -                  -                 crud organization  crud all
webhooks           crud own  crud organization  -                 crud organization  crud all
keys               crud own  crud own           crud own          crud organization  crud all
organizations      -         -                  -                 ru organization    cru all
members            -         -                  -                 crud organization  crud all
roles              -         -                  -                 crud organization  crud all
audit              -         -                  -                 r organization     r all
retention          -         -                  -                 crud organization  crud all
"""

# What became of a resource that was split: (its successor, the actions that the successor has)
SPLIT = {
    "scores": (("scores", "crud"), ("reasoning", "r")),
    "reviews": (("reviews", "crud"), ("feedback", "crud")),
    "exports": (("exports", "crud"), ("preference_pairs", "crud"), ("rewards", "crud"), ("reward_endpoints", "crud")),
    "evaluations": (("evaluations", "crud"), ("reports", "crud"), ("decks", "crud"), ("telemetry", "crud")),
    "model_calls": (("model_calls", "crud"), ("usage", "r")),
    "administration": (
        ("organizations", "cru"), ("members", "crud"), ("roles", "crud"), ("audit", "r"), ("retention", "crud"),
    ),
}


def built_in(name):
    """The permissions of a built-in role, from the table."""
    found = []
    for line in TABLE.strip().splitlines():
        resource, *words = line.split()
        for role in ROLES:
            letters = words.pop(0)
            scope = None if letters == "-" else words.pop(0)
            if role == name and scope:
                found.append({"resource": resource, "actions": [ACTIONS[one] for one in letters], "scope": scope})
    return found


def carried_over(permissions):
    """The same permissions in today's resources."""
    found = []
    for entry in permissions:
        for resource, letters in SPLIT.get(entry["resource"], ((entry["resource"], "crud"),)):
            actions = [ACTIONS[one] for one in letters if ACTIONS[one] in entry["actions"]]
            if actions:
                found.append({"resource": resource, "actions": actions, "scope": entry["scope"]})
    return found


def write(apps, schema_editor):
    Role = apps.get_model("access", "Role")
    for name in ROLES:
        Role.objects.update_or_create(organization=None, name=name, defaults={"permissions": built_in(name)})
    for role in Role.objects.exclude(organization=None).iterator():
        role.permissions = carried_over(role.permissions)
        role.save(update_fields=["permissions"])


class Migration(migrations.Migration):
    dependencies = [("access", "0005_audit_triggers")]
    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="role",
            field=models.ForeignKey(blank=True, null=True, on_delete=models.PROTECT, to="access.role"),
        ),
        migrations.RunPython(write, migrations.RunPython.noop, elidable=False),
    ]
