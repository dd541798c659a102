"""Create, change, switch off and on, and delete webhooks, and rotate their secrets."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from msgspec import UNSET

from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.crypto.fields import is_damaged
from autotune.core.errors import Conflict, Invalid, NotFound
from autotune.core.outbound.registered_urls import AddressRefused, check_url
from autotune.webhooks import mail, requests, rules
from autotune.webhooks.delivery import signing
from autotune.webhooks.models import Delivery, Webhook
from autotune.webhooks.requests import WebhookIn, WebhookPatch
from autotune.webhooks.states import DeliveryStatus, WebhookStatus

GRACE: Final = timedelta(hours=24)
MAX_WEBHOOKS: Final = 100  # of an organization: each event is sent to all of its subscribers
SWITCHED_OFF: Final = "Switched off by its owner."
PARKED_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class WebhookChange:
    """A created or changed webhook, with its new secret if it has one: a secret is shown only once."""

    webhook: Webhook
    secret: str | None


@transaction.atomic
def create(principal: Principal, body: WebhookIn) -> WebhookChange:
    """Create a webhook with its secret.

    raises  Invalid for an address or an event that is not allowed, Conflict `too_many_webhooks`
    """
    url, kinds = _address(body.url), requests.kinds(body.events, principal)
    if Webhook.objects.live().filter(organization=principal.organization).count() >= MAX_WEBHOOKS:
        raise Conflict(
            f"The organization already has {MAX_WEBHOOKS} webhooks, the maximum. Delete one first.",
            code="too_many_webhooks",
        )
    secret = signing.new_secret()
    webhook = Webhook.objects.create(
        organization=principal.organization,
        created_by=principal.user,
        url=url,
        events=[kind.value for kind in kinds],
        description=body.description or "",
        own_only=rules.own_only(principal),
        secret=secret,
    )
    return WebhookChange(webhook, secret)


@transaction.atomic
def change(principal: Principal, webhook_id: UUID, body: WebhookPatch) -> WebhookChange:
    """Change what the body names.

    Another scheme, host or port creates a new secret: a signature for one receiver must not be valid at another.

    raises  Invalid, NotFound if it has been deleted
    """
    webhook = locked(webhook_id)
    changes: dict[str, Any] = {}
    secret = None
    old_url = None if is_damaged(webhook, "url") else webhook.url  # a new one repairs it
    if isinstance(body.url, str) and (url := _address(body.url)) != old_url:
        changes["url"] = url
        if old_url is None or _origin(url) != _origin(old_url):
            secret = signing.new_secret()
            changes |= {"secret": secret, "previous_secret": None, "previous_valid_until": None, "failing_since": None}
    if isinstance(body.events, list):
        changes["events"] = [kind.value for kind in requests.kinds(body.events, principal)]
    if body.description is not UNSET:
        changes["description"] = body.description or ""
    if body.status == "active":
        changes |= {"status": WebhookStatus.ACTIVE, "disabled_reason": "", "failing_since": None}
    _save(webhook, changes)
    if body.status == "disabled":
        _switch_off(webhook)
    return WebhookChange(locked(webhook_id), secret)


@transaction.atomic
def rotate(webhook_id: UUID, *, force: bool = False) -> WebhookChange:
    """Create a new secret. The previous one also signs for a day, so that the receiver can change over.

    raises  Conflict `rotation_in_progress` within that day, unless forced: then the oldest secret ends at once
    """
    webhook = locked(webhook_id)
    now = clock.database_now()
    if not force and webhook.previous_valid_until is not None and webhook.previous_valid_until > now:
        raise Conflict(
            "The previous secret is still valid. Wait until its grace period ends, or send `force` to end it now.",
            code="rotation_in_progress",
        )
    secret, old_secret = signing.new_secret(), None if is_damaged(webhook, "secret") else webhook.secret
    changes = {
        "secret": secret,
        "previous_secret": old_secret,
        "previous_valid_until": None if old_secret is None else now + GRACE,
    }
    _save(webhook, changes)
    return WebhookChange(webhook, secret)


@transaction.atomic
def delete(webhook_id: UUID) -> None:
    """Delete a webhook: Autotune sends nothing to it any more, and deletes its secrets."""
    webhook = locked(webhook_id)
    _save(webhook, {"deleted_at": timezone.now(), "secret": "", "previous_secret": None})
    park(webhook_id)


@transaction.atomic
def switch(webhook_id: UUID, *, on: bool) -> None:
    """Switch a webhook off, or on again."""
    webhook = locked(webhook_id)
    if on:
        _save(webhook, {"status": WebhookStatus.ACTIVE, "disabled_reason": "", "failing_since": None})
    else:
        _switch_off(webhook)


def disable(webhook_id: UUID, reason: str) -> bool:
    """Disable an endpoint because of its answers, and notify its owner. False if it was off already."""
    with transaction.atomic():
        rows = Webhook.objects.active().filter(pk=webhook_id)
        disabled_count = rows.update(status=WebhookStatus.DISABLED, disabled_reason=reason, updated_at=timezone.now())
        if disabled_count:
            park(webhook_id)
    if disabled_count:
        mail.disabled(webhook_id, reason)
    return bool(disabled_count)


def park(webhook_id: UUID) -> int:
    """Park the waiting deliveries of an endpoint that accepts no more. Leased ones are parked when their try ends."""
    total = 0
    waiting = Delivery.objects.pending().filter(webhook_id=webhook_id, leased_until=None).order_by("pk")
    while True:
        with transaction.atomic():
            rows = waiting.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)
            delivery_ids = list(rows[:PARKED_AT_ONCE])
            Delivery.objects.filter(pk__in=delivery_ids).update(status=DeliveryStatus.PARKED, ended_at=timezone.now())
        total += len(delivery_ids)
        if len(delivery_ids) < PARKED_AT_ONCE:
            return total


def park_remaining() -> int:
    """Park deliveries that were queued just as their endpoint was disabled, or in flight when their worker died."""
    off = Webhook.objects.exclude(status=WebhookStatus.ACTIVE, deleted_at=None).with_any_of(Delivery.objects.pending())
    off_ids = list(off.values_list("pk", flat=True))
    late = Delivery.objects.due(clock.database_now()).filter(webhook_id__in=off_ids, leased_until__isnull=False)
    late.update(leased_until=None)
    return sum(park(webhook_id) for webhook_id in off_ids)


def locked(webhook_id: UUID) -> Webhook:
    """Return the current row, locked until the transaction ends.

    raises  NotFound if it has been deleted
    """
    webhook = Webhook.objects.live().select_for_update(no_key=True).filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound("There is no such webhook.")
    return webhook


def _switch_off(webhook: Webhook) -> None:
    if webhook.status == WebhookStatus.ACTIVE:
        _save(webhook, {"status": WebhookStatus.DISABLED, "disabled_reason": SWITCHED_OFF})
        park(webhook.pk)


def _save(webhook: Webhook, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(webhook, name, value)
    if changes:
        webhook.save(update_fields=[*changes, "updated_at"])


def _address(url: str) -> str:
    try:
        return check_url(url, allow=settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS, kind="webhook")
    except AddressRefused as exc:
        raise Invalid.field("/url", exc.code, exc.message) from exc


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
