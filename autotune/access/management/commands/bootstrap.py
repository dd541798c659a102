"""`manage.py bootstrap --organization NAME --admin-email EMAIL [--json]`."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from autotune.access.bootstrap import bootstrap
from autotune.access.models import User
from autotune.core import ids


class Command(BaseCommand):
    help = "Creates an organization, its admin login and an API key if they are missing. Secrets are printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--organization", required=True, metavar="NAME")
        parser.add_argument("--admin-email", required=True, metavar="EMAIL")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        name, email = options["organization"].strip(), options["admin_email"].strip()
        if not name or len(name) > 200:
            raise CommandError("--organization: enter a name of 1 to 200 characters.")
        try:
            User._meta.get_field("email").clean(email, None)
        except ValidationError:
            raise CommandError(f"--admin-email: {email!r} is not an email address.") from None
        bootstrapped = bootstrap(organization_name=name, admin_email=email)
        output = {
            "organizationId": ids.encode("org", bootstrapped.organization.pk),
            "adminEmail": bootstrapped.admin.email,
            "adminPassword": bootstrapped.password,
            "apiKey": bootstrapped.api_key,
        }
        if options["json"]:
            self.stdout.write(json.dumps(output))
            return
        for label, value in output.items():
            self.stdout.write(f"{label:15} {value or '(exists already, not shown again)'}")
