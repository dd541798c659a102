"""`manage.py createsuperuser`, as Django's; it leaves an event of the audit trail."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from autotune.access.audit.commands import recorded


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with recorded("people.create", by="manage.py createsuperuser"):
            super().handle(*args, **options)
