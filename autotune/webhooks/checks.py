"""Check that the settings still allow the addresses of stored webhooks."""

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, transaction

from autotune.core.crypto.encryption import Undecryptable
from autotune.core.outbound.registered_urls import AddressRefused, check_url
from autotune.webhooks.models import Webhook

SHOWN: Final = 10


@register(Tags.database)
def stored_addresses(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Warn in `check --database default` and each `migrate` of enabled webhooks that deliveries will not reach.

    This does not detect a name that resolves to a private address: only a call does.
    """
    if not databases or "default" not in databases:
        return []
    refused = _refused()
    if not refused:
        return []
    shown = ", ".join(refused[:SHOWN]) + (f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else "")
    return [
        Warning(
            f"AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS does not allow the addresses of these enabled webhooks: {shown}.",
            hint="AUTOTUNE_OUTBOUND_ALLOW does not cover webhooks. Name their networks and ports in "
            "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS, or disable them.",
            id="webhooks.W001",
        )
    ]


def _refused() -> list[str]:
    """Return the public ids of these webhooks; none if the table or database is missing: other checks report that."""
    refused = []
    try:
        with transaction.atomic():
            for webhook in Webhook.objects.active().only("pk", "url").order_by("pk").iterator():
                if not _is_allowed(webhook):
                    refused.append(webhook.public_id)
    except DatabaseError:
        return []
    return refused


def _is_allowed(webhook: Webhook) -> bool:
    try:
        check_url(webhook.url, allow=settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS, kind="webhook")
    except AddressRefused:
        return False
    except Undecryptable:  # its address cannot be read, so nothing can be said about it
        return True
    return True
