"""Claim due deliveries under a lease, a few for each endpoint, so that an endpoint that hangs delays no other.

While a try is in flight, its row becomes due again only at the end of the lease: a killed worker causes a repeated try,
never a lost one. The attempt's number is the lease's token.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F

from autotune.core.clock import database_now
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from autotune.core.crypto.fields import is_damaged
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.states import EventKind

logger = logging.getLogger(__name__)
LEASE: Final = timedelta(seconds=20)  # a try lasts 10 s at most, and is saved soon after
PER_ENDPOINT: Final = 16  # tries in flight to one endpoint from one process
STRUGGLING_AFTER: Final = timedelta(minutes=1)
PER_STRUGGLING: Final = 1  # to one that has failed for a while: enough to notice its recovery
ENDPOINTS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class DeliveryTry:
    """A claimed delivery, with what a try needs. `body` is None if its payload or secret cannot be read."""

    delivery_id: UUID
    webhook_id: UUID
    event_id: UUID
    organization_id: UUID
    kind: EventKind
    attempt: int
    message_id: str
    url: str
    secrets: tuple[str, ...]
    body: bytes | None
    struggling: bool = False


def claim(busy: Mapping[UUID, int], *, room: int, struggling_room: int) -> list[DeliveryTry]:
    """Claim at most `room` due deliveries of active endpoints.

    busy             tries that this process already has in flight, by endpoint
    struggling_room  how many of the claims may be for endpoints that have failed for a while, in total
    """
    if room <= 0:
        return []
    now = database_now()
    full = [pk for pk, out in busy.items() if out >= PER_ENDPOINT]
    due = Delivery.objects.due(now)
    endpoints = Webhook.objects.active().with_any_of(due).exclude(pk__in=full)
    well_first = F("failing_since").desc(nulls_first=True)
    webhooks = {webhook.pk: webhook for webhook in endpoints.order_by(well_first, "pk")[:ENDPOINTS_AT_ONCE]}
    batch: list[Delivery] = []
    with transaction.atomic():
        for webhook in webhooks.values():
            limit = PER_ENDPOINT
            if struggles(webhook, now):
                limit = min(PER_STRUGGLING, struggling_room)
            share = min(limit - busy.get(webhook.pk, 0), room - len(batch))
            if share <= 0:
                continue
            rows = due.filter(webhook=webhook).order_by("next_at", "pk")
            deliveries = list(rows.select_for_update(skip_locked=True, no_key=True)[:share])
            batch += deliveries
            struggling_room -= len(deliveries) if struggles(webhook, now) else 0
        _lease([delivery.pk for delivery in batch], now)
    return load(batch, webhooks, now)


def lease_one(delivery: Delivery, now: datetime) -> None:
    """Lease a delivery that the caller has locked or created, and will try by itself."""
    _lease([delivery.pk], now)


def give_back(tries: Sequence[DeliveryTry]) -> None:
    """Return claimed deliveries that this process will not try: they are due at once for other processes."""
    now = database_now()
    for trial in tries:
        Delivery.objects.pending().filter(pk=trial.delivery_id, attempt=trial.attempt).update(
            next_at=now, leased_until=None
        )


def struggles(webhook: Webhook, now: datetime) -> bool:
    """Return whether every try of an endpoint has failed for a while."""
    return webhook.failing_since is not None and webhook.failing_since < now - STRUGGLING_AFTER


def load(deliveries: Sequence[Delivery], webhooks: Mapping[UUID, Webhook], now: datetime) -> list[DeliveryTry]:
    """Load what the tries need. `deliveries` are as they were before the lease."""
    events = Event.objects.in_bulk({delivery.event_id for delivery in deliveries})
    return [_try(delivery, webhooks[delivery.webhook_id], events[delivery.event_id], now) for delivery in deliveries]


def _lease(keys: Sequence[Any], now: datetime) -> None:
    if keys:
        until = now + LEASE
        Delivery.objects.filter(pk__in=keys).update(attempt=F("attempt") + 1, next_at=until, leased_until=until)


def _try(delivery: Delivery, webhook: Webhook, event: Event, now: datetime) -> DeliveryTry:
    body, url, secrets = _readable(webhook, event, now)
    return DeliveryTry(
        delivery_id=delivery.pk,
        webhook_id=webhook.pk,
        event_id=event.pk,
        organization_id=webhook.organization_id,
        kind=EventKind(event.kind),
        attempt=delivery.attempt + 1,
        message_id=event.public_id,
        url=url,
        secrets=secrets,
        body=body,
        struggling=struggles(webhook, now),
    )


def _readable(webhook: Webhook, event: Event, now: datetime) -> tuple[bytes | None, str, tuple[str, ...]]:
    """Return body, address and secrets; the body is None if any of them cannot be read."""
    try:
        body = event.body
        return (None if body is None else body.encode()), str(webhook.url), secrets_of(webhook, now)
    except MasterKeyMissing:
        raise
    except Undecryptable:
        logger.warning("%s cannot be delivered to %s: the event, address or secret cannot be read", event, webhook)
        return None, "", ()


def secrets_of(webhook: Webhook, now: datetime) -> tuple[str, ...]:
    """Return the secrets that sign now: the current one, and the previous one during its grace period."""
    secrets = [str(webhook.secret)]
    in_grace = webhook.previous_valid_until is not None and webhook.previous_valid_until > now
    if in_grace and not is_damaged(webhook, "previous_secret"):  # otherwise only the current one signs
        secrets += filter(None, [webhook.previous_secret])
    return tuple(secrets)
