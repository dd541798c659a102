"""Subscriptions, the outbox of events, and their deliveries.

An event is written in the transaction of the change that it reports, and only if somebody has subscribed. A moment
later the pump renders it and fans it out to deliveries. The pump also delivers: nothing here waits in a broker.
"""

from typing import Any, ClassVar
from uuid import UUID

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from autotune.core.crypto.fields import EncryptedJSONField, EncryptedTextField
from autotune.webhooks.querysets import DeliveryQuerySet, WebhookQuerySet
from autotune.webhooks.states import DeliveryStatus, EventKind, WebhookStatus


class Webhook(models.Model):
    """An address that receives events.

    url             its path or query may hold a secret of the receiver
    events          kinds of event that it receives
    secret          `whsec_` and base64; shown once. The previous one signs too until `previous_valid_until`
    failing_since   when deliveries to it began to fail, with no success since
    own_only        whether it receives events only about its creator's own graders, as the creator reads no others
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    url = EncryptedTextField()
    events = models.JSONField(default=list)
    description = models.TextField(blank=True)
    secret = EncryptedTextField()
    previous_secret = EncryptedTextField(null=True)
    previous_valid_until = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=8, choices=WebhookStatus.choices, default=WebhookStatus.ACTIVE)
    disabled_reason = models.CharField(max_length=300, blank=True)
    own_only = models.BooleanField(default=False)
    failing_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[WebhookQuerySet] = WebhookQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=WebhookStatus.values), name="webhooks_webhook_status")
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("whk", self.pk)


class Event(models.Model):
    """An event in the outbox. Its id is the `webhook-id` of all its deliveries.

    subject_id     what it is about, if `data` is made from it at fan-out (a completion, say)
    data           its data, if that must be kept from the moment itself
    body           the payload as sent, made at fan-out and the same for every try
    fanned_out_at  when its deliveries were created
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    kind = models.CharField(max_length=40, choices=EventKind.choices)
    subject_id = models.UUIDField(null=True)
    data = EncryptedJSONField(null=True)
    body = EncryptedTextField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    fanned_out_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(fanned_out_at=None), name="webhooks_event_due"),
            models.Index(fields=["created_at"], name="webhooks_event_age"),
            models.Index(fields=["subject_id"], condition=models.Q(subject_id__isnull=False), name="webhooks_event_of"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def public_id(self) -> str:
        return ids.encode("evt", self.pk)


class Delivery(models.Model):
    """The delivery of one event to one endpoint.

    attempt       tries so far, and the lease's token
    failures      tries that failed since it was queued
    queued_at     when it was created or last requested again; it is given up three days later
    next_at       when it is due; while a try is in flight, the end of its lease
    leased_until  end of the lease, while a try is in flight
    log           the last tries: [{at, status, latencyMs, error, excerpt}], bounded; null before the first
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, db_index=False, related_name="deliveries")
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    status = models.CharField(max_length=9, choices=DeliveryStatus.choices, default=DeliveryStatus.PENDING)
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    queued_at = models.DateTimeField(default=timezone.now)
    next_at = models.DateTimeField(default=timezone.now)
    leased_until = models.DateTimeField(null=True, blank=True)
    log = EncryptedJSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[DeliveryQuerySet] = DeliveryQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["event", "webhook"], name="webhooks_delivery_once"),
            models.CheckConstraint(
                condition=models.Q(status__in=DeliveryStatus.values), name="webhooks_delivery_status"
            ),
        ]
        indexes = [
            models.Index(
                fields=["webhook", "next_at", "id"], condition=models.Q(status="pending"), name="webhooks_delivery_next"
            ),
            models.Index(fields=["webhook", "-id"], name="webhooks_delivery_recent"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("dlv", self.pk)

    @property
    def organization_id(self) -> UUID:
        """Return the organization whose data key encrypts the log."""
        return self.webhook.organization_id

    @property
    def tries(self) -> list[dict[str, Any]]:
        """Return the log; an empty one if it cannot be read any more, which must not stop a delivery."""
        try:
            return self.log or []
        except MasterKeyMissing:
            raise
        except Undecryptable:
            return []
