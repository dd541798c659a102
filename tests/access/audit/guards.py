"""Switch the triggers that protect the audit log off and on: most tests must be able to empty their tables."""

from importlib import import_module

from django.db import connection

TABLES = ("access_auditevent", "access_auditchain")
triggers = import_module("autotune.access.migrations.0002_triggers_and_roles")


def off():
    _switch("disable", "drop trigger if exists {}")


def on():
    _switch("enable", "create trigger if not exists {} {}")


def _switch(postgres, sqlite):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for table in TABLES:
                cursor.execute(f"alter table {table} {postgres} trigger user")
            return
        for name, rule in triggers.SQLITE.items():
            cursor.execute(sqlite.format(name, rule))
