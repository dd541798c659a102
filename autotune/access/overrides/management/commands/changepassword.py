"""`manage.py changepassword`, as Django's; it leaves an event of the audit trail."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from autotune.access.audit.commands import recorded


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with recorded("password.update", by="manage.py changepassword"):
            return super().handle(*args, **options)
