"""What keeps the audit trail from being changed, in the database itself.

An event is inserted unsealed. It may be closed once while it is open, sealed once, and never be changed or deleted
otherwise; the head of a chain only moves forward. A later migration that lets SQLite make one of these tables anew must
make its triggers anew.
"""

from django.db import migrations

SEALED_LAST = ("number", "digest")
CLOSED_WITH = ("action", "resource", "object_id", "objects_count", "fields", "outcome", "status", "code", "mac")
SETTLED = (
    "id", "chain", "organization_id", "user_id", "key_id", "actor", "method", "route", "address", "request_id", "at",
)  # fmt: skip


def _same(names, operator):
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


def make(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES, params=None)
        return
    for name, rule in SQLITE.items():
        schema_editor.execute(f"create trigger {name} {rule}", params=None)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES_BACK, params=None)
        return
    for name in SQLITE:
        schema_editor.execute(f"drop trigger if exists {name}", params=None)


class Migration(migrations.Migration):
    dependencies = [("access", "0004_trust")]
    operations = [migrations.RunPython(make, drop)]
