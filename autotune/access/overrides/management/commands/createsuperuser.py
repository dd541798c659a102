"""Django's `manage.py createsuperuser`, which also writes an event to the audit log."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from autotune.access.audit.commands import recorded


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with recorded("people.create", by="manage.py createsuperuser"):
            super().handle(*args, **options)
