"""Webhooks: addresses that the server sends events to. A receiver checks them with `autotune_sdk.verify_webhook`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models import Page
from ..models_webhooks import Delivery, Webhook, WebhookRegistration
from ._base import Resource, member, segment, wire_members


class WebhookChanges(TypedDict, total=False):
    """What `update` takes. status: 'disabled', or 'active' to begin anew."""

    url: str
    events: Iterable[str]
    description: str | None
    status: str


class Webhooks(Resource):
    """`client.webhooks`."""

    def create(
        self,
        *,
        url: str,
        events: Iterable[str],
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> WebhookRegistration:
        """Subscribes an address to events such as 'score.completed'. The secret in the answer is shown once."""
        body = wire_members({"url": url, "events": list(events), "description": description})
        return _registration(self._transport.post("/webhooks", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        status: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Webhook]:
        """One page of webhooks."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/webhooks", "webhooks", Webhook, parameters)

    def get(self, webhook_id: str) -> Webhook:
        """One webhook."""
        return _wire.decode(Webhook, member(self._transport.get(f"/webhooks/{segment(webhook_id)}"), "webhook"))

    def update(self, webhook_id: str, **changes: Unpack[WebhookChanges]) -> WebhookRegistration:
        """Changes what is named. A new scheme, host or port of the URL makes a new secret: see `secret`."""
        body = dict(changes)
        if "events" in changes:
            body["events"] = list(changes["events"])
        return _registration(self._transport.patch(f"/webhooks/{segment(webhook_id)}", _wire.dumps(body)))

    def delete(self, webhook_id: str) -> None:
        """Deletes a webhook: nothing is sent there any more."""
        self._transport.delete(f"/webhooks/{segment(webhook_id)}")

    def rotate_secret(
        self, webhook_id: str, *, force: bool | None = None, idempotency_key: str | None = None
    ) -> WebhookRegistration:
        """A new secret. The one before signs too for a day; a second rotation inside it needs `force`."""
        body, path = _wire.dumps(wire_members({"force": force})), f"/webhooks/{segment(webhook_id)}/rotate-secret"
        return _registration(self._transport.post(path, body, idempotency_key=idempotency_key))

    def test(self, webhook_id: str) -> Delivery:
        """Sends the event 'webhook.test' there, once, and says what came of it. RateLimited within a few seconds."""
        return _delivery(self._transport.post(f"/webhooks/{segment(webhook_id)}/test", b"{}"))

    def deliveries(
        self,
        webhook_id: str,
        *,
        status: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Delivery]:
        """One page of the deliveries to a webhook, the newest first."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page(f"/webhooks/{segment(webhook_id)}/deliveries", "deliveries", Delivery, parameters)

    def redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Has an event delivered once more. Raises ConflictError while a try is out, or the webhook is disabled."""
        path = f"/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver"
        return _delivery(self._transport.post(path, b"{}", safe=True))


def _registration(answer: Any) -> WebhookRegistration:
    return WebhookRegistration(_wire.decode(Webhook, member(answer, "webhook")), member(answer, "secret"))


def _delivery(answer: Any) -> Delivery:
    return _wire.decode(Delivery, member(answer, "delivery"))
