"""Responses about webhooks and deliveries. A secret is returned only once, when it is created."""

from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.clock import wire
from autotune.core.crypto.fields import LegibleRow, is_legible
from autotune.webhooks.models import Delivery, Webhook
from autotune.webhooks.states import DeliveryStatus

MASK = "***"


class WebhookOut(ApiStruct):
    """A webhook. Lists mask the values of the URL's query. Until `previousValidUntil` the previous secret also signs.

    `unreadable` lists what cannot be decrypted: `url`, which is then null, or `secret`, without which Autotune sends
    nothing. Otherwise it is absent.
    """

    id: str
    url: str | None
    events: list[str]
    description: str | None
    status: str
    disabled_reason: str | None
    failing_since: str | None
    previous_valid_until: str | None
    created_by: str
    created_at: str
    updated_at: str
    unreadable: list[str] | UnsetType = UNSET


class WebhookAnswer(ApiStruct):
    webhook: WebhookOut


class WebhookWithSecret(ApiStruct):
    """`secret` is shown once; null if none was created."""

    webhook: WebhookOut
    secret: str | None


class WebhookList(ApiStruct):
    webhooks: list[WebhookOut]
    pagination: Pagination


class DeliveryTryOut(ApiStruct):
    """One try. `status` is null without an answer; `error` says why it was no delivery."""

    at: str
    status: int | None
    latency_ms: float | None
    error: str | None
    excerpt: str | None


class DeliveryOut(ApiStruct):
    """`attempts`: tries that have started. `tries`: the last ten that ended, the newest first.

    `unreadable` is `["tries"]` if they cannot be decrypted; otherwise it is absent.
    """

    id: str
    event_id: str
    event: str
    status: str
    attempts: int
    tries: list[DeliveryTryOut]
    next_attempt_at: str | None
    created_at: str
    ended_at: str | None
    unreadable: list[str] | UnsetType = UNSET


class DeliveryAnswer(ApiStruct):
    delivery: DeliveryOut


class DeliveryList(ApiStruct):
    deliveries: list[DeliveryOut]
    pagination: Pagination


def webhook_out(webhook: Webhook, *, masked: bool = False) -> WebhookOut:
    text = LegibleRow(webhook)
    url: str | None = text.url
    text.read("secret")
    return WebhookOut(
        id=webhook.public_id,
        url=mask(url) if masked and url is not None else url,
        events=webhook.events,
        description=webhook.description or None,
        status=webhook.status,
        disabled_reason=webhook.disabled_reason or None,
        failing_since=wire(webhook.failing_since) if webhook.failing_since else None,
        previous_valid_until=wire(webhook.previous_valid_until) if webhook.previous_valid_until else None,
        created_by=ids.encode("user", webhook.created_by_id),
        created_at=wire(webhook.created_at),
        updated_at=wire(webhook.updated_at),
        unreadable=text.marker(),
    )


def delivery_out(delivery: Delivery) -> DeliveryOut:
    """Return a delivery, whose event should be loaded already (`select_related("event")`)."""
    pending = delivery.status == DeliveryStatus.PENDING
    tries = LegibleRow(delivery).log or []
    return DeliveryOut(
        id=delivery.public_id,
        event_id=ids.encode("evt", delivery.event_id),
        event=delivery.event.kind,
        status=delivery.status,
        attempts=delivery.attempt,
        tries=[_try_out(entry) for entry in reversed(tries)],
        next_attempt_at=wire(delivery.next_at) if pending else None,
        created_at=wire(delivery.created_at),
        ended_at=wire(delivery.ended_at) if delivery.ended_at else None,
        unreadable=UNSET if is_legible(delivery, "log") else ["tries"],
    )


def mask(url: str) -> str:
    """Return the URL without the values of its query, which may be secrets of the receiver."""
    query = urlsplit(url).query
    if not query:
        return url
    masked = "&".join(f"{name}={MASK}" if equals else MASK for name, equals, _ in _parts(query))
    return f"{url.partition('?')[0]}?{masked}"


def _parts(query: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in query.split("&")]


def _try_out(entry: dict[str, Any]) -> DeliveryTryOut:
    return DeliveryTryOut(entry["at"], entry["status"], entry["latencyMs"], entry["error"], entry["excerpt"])
