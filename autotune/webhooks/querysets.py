"""Named queries of webhooks and their deliveries."""

from datetime import datetime
from typing import Self

from django.db.models import OuterRef, Subquery

from autotune.access.policy import ScopedQuerySet
from autotune.webhooks.states import DeliveryStatus, WebhookStatus


class WebhookQuerySet(ScopedQuerySet):
    resource = "webhooks"

    def live(self) -> Self:
        """Select the webhooks that are not deleted."""
        return self.filter(deleted_at=None)

    def active(self) -> Self:
        """Select the webhooks that receive events."""
        return self.live().filter(status=WebhookStatus.ACTIVE)

    def with_any_of(self, deliveries: "DeliveryQuerySet") -> Self:
        """Select the webhooks that have at least one of these pending deliveries.

        A scalar subquery reads one entry of an index for each webhook. PostgreSQL turns EXISTS into a join,
        for which it may read all deliveries.
        """
        first = deliveries.filter(webhook=OuterRef("pk")).order_by("next_at", "pk").values("next_at")[:1]
        return self.alias(first_delivery_at=Subquery(first)).exclude(first_delivery_at=None)


class DeliveryQuerySet(ScopedQuerySet):
    resource = "webhooks"
    organization_path = "webhook__organization_id"
    owner_path = "webhook__created_by_id"

    def pending(self) -> Self:
        return self.filter(status=DeliveryStatus.PENDING)

    def due(self, now: datetime) -> Self:
        """Select the deliveries to try now. One in flight becomes due again when its lease ends."""
        return self.pending().filter(next_at__lte=now)
