"""Django's `manage.py changepassword`, which also writes an event to the audit log."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from autotune.access.audit.commands import recorded


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with recorded("password.update", by="manage.py changepassword"):
            return super().handle(*args, **options)
