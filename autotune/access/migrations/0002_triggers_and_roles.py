"""The triggers that protect the audit log, the table of the cache, the storage of ciphertext, and the built-in roles.

An audit event is inserted unsealed. It may be closed once while it is open, sealed once, and never be changed or deleted
otherwise; the head of a chain only moves forward. A later migration that lets SQLite recreate one of these tables must
create its triggers again.

The permissions of the roles are written out here: a release that changes them has a migration of its own.
"""

from typing import Any

from django.core.management import call_command
from django.db import migrations

from autotune.core.migration_operations import UncompressedColumns

CLOSED_WITH = ("action", "resource", "object_id", "objects_count", "fields", "outcome", "status", "code", "mac")
SETTLED = (
    "id", "chain", "organization_id", "user_id", "key_id", "actor", "method", "route", "address", "request_id", "at",
)  # fmt: skip


def _same(names: tuple[str, ...], operator: str) -> str:
    return " and ".join(f"new.{name} {operator} old.{name}" for name in names)


POSTGRES = f"""
create function access_audit_event_guard() returns trigger language plpgsql as $guard$
begin
    if tg_op = 'INSERT' then
        raise exception 'audit events are inserted unsealed' using errcode = 'integrity_constraint_violation';
    end if;
    if tg_op = 'UPDATE' and old.number is null then
        if (new.{", new.".join(SETTLED)}) is not distinct from (old.{", old.".join(SETTLED)}) then
            if new.number is null then
                if old.outcome = 'open' and new.outcome <> 'open' and new.digest is null then
                    return new;
                end if;
            elsif old.outcome <> 'open' and (new.{", new.".join(CLOSED_WITH)})
                    is not distinct from (old.{", old.".join(CLOSED_WITH)}) then
                return new;
            end if;
        end if;
    end if;
    raise exception 'the audit trail is append-only' using errcode = 'integrity_constraint_violation';
end
$guard$;
create function access_audit_chain_guard() returns trigger language plpgsql as $guard$
begin
    if tg_op = 'UPDATE' and new.chain = old.chain and new.number > old.number then
        return new;
    end if;
    raise exception 'the head of an audit chain only moves forward' using errcode = 'integrity_constraint_violation';
end
$guard$;
create trigger access_audit_event_inserted before insert on access_auditevent
    for each row when (new.number is not null or new.digest is not null) execute function access_audit_event_guard();
create trigger access_audit_event_changed before update or delete on access_auditevent
    for each row execute function access_audit_event_guard();
create trigger access_audit_event_emptied before truncate on access_auditevent
    for each statement execute function access_audit_event_guard();
create trigger access_audit_chain_changed before update or delete on access_auditchain
    for each row execute function access_audit_chain_guard();
create trigger access_audit_chain_emptied before truncate on access_auditchain
    for each statement execute function access_audit_chain_guard();
"""
POSTGRES_BACK = """
drop trigger access_audit_event_inserted on access_auditevent;
drop trigger access_audit_event_changed on access_auditevent;
drop trigger access_audit_event_emptied on access_auditevent;
drop trigger access_audit_chain_changed on access_auditchain;
drop trigger access_audit_chain_emptied on access_auditchain;
drop function access_audit_event_guard();
drop function access_audit_chain_guard();
"""
SQLITE = {
    "access_audit_event_inserted": """before insert on access_auditevent
        when new.number is not null or new.digest is not null
        begin select raise(abort, 'audit events are inserted unsealed'); end""",
    "access_audit_event_changed": f"""before update on access_auditevent
        when not (
            old.number is null and {_same(SETTLED, "is")} and (
                (new.number is null and new.digest is null and old.outcome = 'open' and new.outcome <> 'open')
                or (new.number is not null and old.outcome <> 'open' and {_same(CLOSED_WITH, "is")})
            )
        )
        begin select raise(abort, 'the audit trail is append-only'); end""",
    "access_audit_event_deleted": """before delete on access_auditevent
        begin select raise(abort, 'the audit trail is append-only'); end""",
    "access_audit_chain_changed": """before update on access_auditchain
        when not (new.chain = old.chain and new.number > old.number)
        begin select raise(abort, 'the head of an audit chain only moves forward'); end""",
    "access_audit_chain_deleted": """before delete on access_auditchain
        begin select raise(abort, 'the head of an audit chain only moves forward'); end""",
}

ROLES = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin", "collector")
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


def built_in(name: str) -> list[dict[str, Any]]:
    """Return the permissions of a built-in role, from the table."""
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


def create_triggers(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES, params=None)
        return
    for name, rule in SQLITE.items():
        schema_editor.execute(f"create trigger {name} {rule}", params=None)


def drop_triggers(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES_BACK, params=None)
        return
    for name in SQLITE:
        schema_editor.execute(f"drop trigger if exists {name}", params=None)


def create_cache_table(apps: Any, schema_editor: Any) -> None:
    """Create the table of the cache that all processes share (CACHES)."""
    call_command("createcachetable", "access_cache", database=schema_editor.connection.alias, verbosity=0)


def create_roles(apps: Any, schema_editor: Any) -> None:
    Role = apps.get_model("access", "Role")
    for name in ROLES:
        Role.objects.create(organization=None, name=name, permissions=built_in(name))


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [
        migrations.RunPython(create_triggers, drop_triggers),
        migrations.RunPython(create_cache_table, migrations.RunPython.noop),
        UncompressedColumns("access_storedanswer", "answer"),
        UncompressedColumns("access_secondfactorsecret", "secret"),
        migrations.RunPython(create_roles, migrations.RunPython.noop, elidable=False),
    ]
