"""Delete, once a day, events whose deliveries ended long ago, and deleted webhooks without deliveries."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Subquery

from autotune.webhooks.models import Delivery, Event, Webhook

KEPT: Final = timedelta(days=30)
AT_ONCE: Final = 1_000


def clean(now: datetime) -> int:
    """Delete old events and deleted webhooks, and return the number of events."""
    total, before = 0, now - KEPT
    deliveries = Delivery.objects.filter(event=OuterRef("pk"))
    unfinished = Exists(deliveries.pending()) | Exists(deliveries.filter(ended_at__gt=before))
    over = Event.objects.filter(~unfinished, created_at__lte=before, fanned_out_at__isnull=False).order_by("created_at")
    while event_ids := list(over.values_list("pk", flat=True)[:AT_ONCE]):
        total += Event.objects.filter(pk__in=event_ids).delete()[1].get("webhooks.Event", 0)
    newest = (
        Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    )  # one look-up in an index each
    Webhook.objects.alias(newest=Subquery(newest)).filter(newest=None, deleted_at__lte=before).delete()
    return total
