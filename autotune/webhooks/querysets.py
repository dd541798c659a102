"""The named questions about webhooks and their deliveries."""

from typing import Self

from autotune.access.policy import ScopedQuerySet


class WebhookQuerySet(ScopedQuerySet):
    resource = "webhooks"

    def live(self) -> Self:
        """Not deleted."""
        return self.filter(deleted_at=None)


class DeliveryQuerySet(ScopedQuerySet):
    resource = "webhooks"
    organization_path = "webhook__organization_id"
    owner_path = "webhook__created_by_id"
