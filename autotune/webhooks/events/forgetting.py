"""Erase the data of events when the text of their subjects is erased."""

from collections.abc import Collection
from uuid import UUID

from autotune.core.clock import database_now
from autotune.webhooks.models import Delivery, Event
from autotune.webhooks.states import DeliveryStatus


def forget(subject_ids: Collection[UUID]) -> None:
    """Erase the data and bodies of all events about these subjects, and the answers to them.

    It runs in the caller's transaction.

    Their pending deliveries are parked. An event that has no body yet gets one from the data that is left.
    """
    events = Event.objects.filter(subject_id__in=subject_ids)
    forgotten = list(events.order_by("pk").select_for_update(no_key=True).values_list("pk", "fanned_out_at"))
    if not forgotten:
        return
    Event.objects.filter(pk__in=[pk for pk, _ in forgotten]).update(data=None, body=None)
    sent = [pk for pk, fanned_out_at in forgotten if fanned_out_at is not None]
    now = database_now()
    deliveries = Delivery.objects.filter(event__in=sent).select_related("webhook").order_by("pk")
    for delivery in deliveries.select_for_update(no_key=True, of=("self",)):
        if delivery.status == DeliveryStatus.PENDING:
            delivery.status, delivery.ended_at, delivery.leased_until = DeliveryStatus.PARKED, now, None
        delivery.log = [{**entry, "excerpt": None} for entry in delivery.tries] or None
        delivery.save(update_fields=["status", "ended_at", "leased_until", "log"])
