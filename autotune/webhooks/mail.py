"""Telling people by mail what happened to their webhooks."""

import logging
from uuid import UUID

from django.core.mail import send_mail

from autotune.core.crypto.fields import Legible
from autotune.webhooks.models import Webhook
from autotune.webhooks.responses import mask

logger = logging.getLogger(__name__)


def disabled(webhook_id: UUID, reason: str) -> None:
    """Tell the maker of a webhook that it was disabled."""
    webhook = Webhook.objects.select_related("created_by", "organization").get(pk=webhook_id)
    url = Legible(webhook).url
    address = "(cannot be read)" if url is None else mask(url)
    tell(
        webhook.created_by.email,
        "A webhook was disabled",
        f"The webhook {webhook.public_id} of {webhook.organization.name} was disabled.\n\n"
        f"Address: {address}\n"
        f"Reason: {reason}\n\n"
        "What was still to be delivered is parked. Mend the endpoint, set the webhook's status to active, and have\n"
        "parked deliveries sent again: PATCH /webhooks/:id and POST /webhooks/:id/deliveries/:id/redeliver.\n",
    )


def tell(address: str, subject: str, text: str) -> None:
    """Send one mail. A mail server that is away stops nothing: the state itself is on record."""
    try:
        send_mail(subject, text, None, [address])
    except Exception:  # whatever the mail server's client raises
        logger.exception("mail to %s not sent: %s", address, subject)
