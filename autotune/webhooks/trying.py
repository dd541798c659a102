"""Test an endpoint, or deliver an event again, when a person requests it."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from autotune.core import connections
from autotune.core.clock import database_now
from autotune.core.errors import Conflict, NotFound, TooManyRequests
from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundError, Result
from autotune.webhooks import endpoints
from autotune.webhooks.delivery import attempts, claims, results
from autotune.webhooks.delivery.claims import DeliveryTry
from autotune.webhooks.events import fanout
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.states import DeliveryStatus, EventKind, WebhookStatus

TEST_EVERY: Final = timedelta(seconds=5)
MINUTE: Final = timedelta(minutes=1)
TESTS_A_MINUTE: Final = 30  # of an organization
TEST_MESSAGE: Final = "This is a test of the webhook."


def test(webhook_id: UUID) -> Delivery:
    """Send `webhook.test` only to this endpoint, and wait for its answer. There are no retries.

    raises  TooManyRequests for a second test within a few seconds, NotFound
    """
    trial = _open_test(webhook_id)
    connections.release()
    result: Result
    try:
        result = engine.fetch(attempts.request(trial), "webhook")
    except OutboundError as exc:
        result = exc
    results.settle([attempts.outcome(trial, result, database_now())])
    return Delivery.objects.select_related("event").get(pk=trial.delivery_id)


@transaction.atomic
def redeliver(webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Deliver an event again: at once, with retries for three days. A pending delivery becomes due at once.

    raises  NotFound, Conflict `webhook_disabled`, Conflict `delivery_in_flight` while a try is in flight
    """
    webhook = endpoints.locked(webhook_id)
    if webhook.status != WebhookStatus.ACTIVE:
        raise Conflict("The webhook is disabled. Set its status to active first.", code="webhook_disabled")
    rows = Delivery.objects.filter(pk=delivery_id, webhook=webhook)
    delivery = rows.select_for_update(no_key=True, of=("self",)).select_related("event").first()
    if delivery is None:
        raise NotFound("There is no such delivery.")
    now = database_now()
    if delivery.leased_until is not None and delivery.leased_until > now:
        raise Conflict("A try is in progress. Wait until it has ended.", code="delivery_in_flight")
    delivery.status = DeliveryStatus.PENDING
    delivery.failures, delivery.ended_at, delivery.leased_until = 0, None, None
    delivery.queued_at = delivery.next_at = now
    delivery.save(update_fields=["status", "failures", "ended_at", "leased_until", "queued_at", "next_at"])
    return delivery


@transaction.atomic
def _open_test(webhook_id: UUID) -> DeliveryTry:
    """Create the event, its body and its delivery, leased to this process."""
    webhook = endpoints.locked(webhook_id)
    now = database_now()
    _require_rest(webhook, now)
    event = Event(organization_id=webhook.organization_id, kind=EventKind.TEST, created_at=now, fanned_out_at=now)
    event.body = fanout.body(event, {"webhookId": webhook.public_id, "message": TEST_MESSAGE}).decode()
    event.save(force_insert=True)
    delivery = Delivery.objects.create(webhook=webhook, event=event, queued_at=now, created_at=now, next_at=now)
    claims.lease_one(delivery, now)
    return claims.load([delivery], {webhook.pk: webhook}, now)[0]


def _require_rest(webhook: Webhook, now: datetime) -> None:
    """Limit tests, so that nobody can use them to send an address many requests."""
    tests = Event.objects.filter(kind=EventKind.TEST, organization_id=webhook.organization_id)
    if tests.filter(created_at__gt=now - TEST_EVERY, deliveries__webhook=webhook).exists():
        raise _too_many("This webhook was tested a moment ago. Wait five seconds.", TEST_EVERY)
    if tests.filter(created_at__gt=now - MINUTE).count() >= TESTS_A_MINUTE:
        raise _too_many(f"The organization has made {TESTS_A_MINUTE} tests within a minute. Wait a minute.", MINUTE)


def _too_many(detail: str, wait: timedelta) -> TooManyRequests:
    return TooManyRequests(detail, headers={"Retry-After": str(int(wait.total_seconds()))})
