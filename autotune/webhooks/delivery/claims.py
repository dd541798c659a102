"""Claims: due deliveries under a lease, a few for each endpoint, so that one that hangs delays nobody else.

While a try is out its row is due again only at the end of the lease: a worker that is killed costs a repeated try, and
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
PER_ENDPOINT: Final = 16  # tries out to one endpoint from one process
STRUGGLING_AFTER: Final = timedelta(minutes=1)
PER_STRUGGLING: Final = 1  # to one that has failed for a while: enough to find out that it is back
ENDPOINTS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Try:
    """One delivery, claimed, with what a try needs. `body` None: its payload or secret cannot be read."""

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


def claim(busy: Mapping[UUID, int], *, room: int, struggling_room: int) -> list[Try]:
    """Due deliveries, at most `room`, of active endpoints.

    busy             tries that are out from here already, by endpoint
    struggling_room  how many of them may go to endpoints that have failed for a while, all together
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
    """Lease a delivery that the caller has locked or made, for a try of its own."""
    _lease([delivery.pk], now)


def give_back(tries: Sequence[Try]) -> None:
    """Return claimed deliveries that this process will not try: they are due at once for other processes."""
    now = database_now()
    for trial in tries:
        Delivery.objects.pending().filter(pk=trial.delivery_id, attempt=trial.attempt).update(
            next_at=now, leased_until=None
        )


def struggles(webhook: Webhook, now: datetime) -> bool:
    """Whether an endpoint has only failed for a while."""
    return webhook.failing_since is not None and webhook.failing_since < now - STRUGGLING_AFTER


def load(deliveries: Sequence[Delivery], webhooks: Mapping[UUID, Webhook], now: datetime) -> list[Try]:
    """What the tries need. `deliveries` as they were before the lease."""
    events = Event.objects.in_bulk({delivery.event_id for delivery in deliveries})
    return [_try(delivery, webhooks[delivery.webhook_id], events[delivery.event_id], now) for delivery in deliveries]


def _lease(keys: Sequence[Any], now: datetime) -> None:
    if keys:
        until = now + LEASE
        Delivery.objects.filter(pk__in=keys).update(attempt=F("attempt") + 1, next_at=until, leased_until=until)


def _try(delivery: Delivery, webhook: Webhook, event: Event, now: datetime) -> Try:
    body, url, secrets = _readable(webhook, event, now)
    return Try(
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
    """Body, address and secrets."""
    try:
        body = event.body
        return (None if body is None else body.encode()), str(webhook.url), secrets_of(webhook, now)
    except MasterKeyMissing:
        raise
    except Undecryptable:
        logger.warning("%s cannot be delivered to %s: it, or the secret, cannot be read", event, webhook)
        return None, "", ()


def secrets_of(webhook: Webhook, now: datetime) -> tuple[str, ...]:
    """The secrets that sign now: the current one, and the one before for its grace period."""
    secrets = [str(webhook.secret)]
    in_grace = webhook.previous_valid_until is not None and webhook.previous_valid_until > now
    if in_grace and not is_damaged(webhook, "previous_secret"):  # otherwise only the current one signs
        secrets += filter(None, [webhook.previous_secret])
    return tuple(secrets)
