"""Manage webhooks, to which the server sends events. A receiver checks them with `autotune_sdk.verify_webhook`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models.pages import Page
from ..models.webhooks import Delivery, Webhook, WebhookRegistration
from ._base import Resource, member, segment, wire_members


class WebhookChanges(TypedDict, total=False):
    """The parameters of `update`. status: 'disabled', or 'active' to enable it again."""

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
        """Subscribe an address to events such as 'score.completed'. The secret in the response is shown once."""
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
        """Return one page of webhooks."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/webhooks", "webhooks", Webhook, parameters)

    def get(self, webhook_id: str) -> Webhook:
        """Return one webhook."""
        return _wire.decode(Webhook, member(self._transport.get(f"/webhooks/{segment(webhook_id)}"), "webhook"))

    def update(self, webhook_id: str, **changes: Unpack[WebhookChanges]) -> WebhookRegistration:
        """Change the given members. A new scheme, host or port of the URL creates a new secret: see `secret`."""
        body = dict(changes)
        if "events" in changes:
            body["events"] = list(changes["events"])
        return _registration(self._transport.patch(f"/webhooks/{segment(webhook_id)}", _wire.dumps(body)))

    def delete(self, webhook_id: str) -> None:
        """Delete a webhook: the server sends it no more events."""
        self._transport.delete(f"/webhooks/{segment(webhook_id)}")

    def rotate_secret(
        self, webhook_id: str, *, force: bool | None = None, idempotency_key: str | None = None
    ) -> WebhookRegistration:
        """Create a new secret. For a day the old one signs too; a second rotation in that time requires `force`."""
        body, path = _wire.dumps(wire_members({"force": force})), f"/webhooks/{segment(webhook_id)}/rotate-secret"
        return _registration(self._transport.post(path, body, idempotency_key=idempotency_key))

    def test(self, webhook_id: str) -> Delivery:
        """Send the event 'webhook.test' once, and return the result. Raises RateLimited if repeated within seconds."""
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
        """Return one page of the deliveries to a webhook, the newest first."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page(f"/webhooks/{segment(webhook_id)}/deliveries", "deliveries", Delivery, parameters)

    def redeliver(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Deliver an event again. Raises ConflictError during an attempt, or if the webhook is disabled."""
        path = f"/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver"
        return _delivery(self._transport.post(path, b"{}", safe=True))


def _registration(answer: Any) -> WebhookRegistration:
    return WebhookRegistration(_wire.decode(Webhook, member(answer, "webhook")), member(answer, "secret"))


def _delivery(answer: Any) -> Delivery:
    return _wire.decode(Delivery, member(answer, "delivery"))
