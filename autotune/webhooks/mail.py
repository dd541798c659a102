"""Notify people by mail when their webhook is disabled."""

import logging
from uuid import UUID

from django.core.mail import EmailMessage

from autotune.access.accounts import mailing
from autotune.core.crypto.fields import LegibleRow
from autotune.webhooks.models import Webhook
from autotune.webhooks.responses import mask

logger = logging.getLogger(__name__)


def disabled(webhook_id: UUID, reason: str) -> None:
    """Send the creator of a webhook a mail that it was disabled."""
    webhook = Webhook.objects.select_related("created_by", "organization").get(pk=webhook_id)
    url = LegibleRow(webhook).url
    address = "(cannot be read)" if url is None else mask(url)
    send(
        webhook.created_by.email,
        "A webhook was disabled",
        f"The webhook {webhook.public_id} of {webhook.organization.name} was disabled.\n\n"
        f"Address: {address}\n"
        f"Reason: {reason}\n\n"
        "Its pending deliveries are parked. Fix the endpoint, set the webhook's status to active, and deliver the\n"
        "parked events again: PATCH /webhooks/:id and POST /webhooks/:id/deliveries/:id/redeliver.\n",
    )


def send(address: str, subject: str, text: str) -> None:
    """Send one mail. An error of the mail server is only logged: the state itself is stored."""
    if not mailing.send(EmailMessage(subject, text, to=[address])):
        logger.error("mail to %s not sent: %s", address, subject)
