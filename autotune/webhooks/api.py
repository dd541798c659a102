"""API views of webhooks and their deliveries."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import SortOrder, page
from autotune.webhooks import endpoints, responses, trying
from autotune.webhooks.models import Delivery, Webhook
from autotune.webhooks.requests import DeliveryQuery, WebhookIn, WebhookPatch, WebhookQuery, WebhookRotate

RESOURCE = "webhooks"
ORDER = SortOrder("webhooks", {"createdAt": "created_at", "updatedAt": "updated_at"})
DELIVERY_ORDER = SortOrder("deliveries", {"createdAt": "id"})  # ids are UUIDv7: their order is that of creation


class WebhookView(ApiView):
    """The base of the views below `/webhooks/:id`."""

    def webhook(self, webhook_id: UUID, action: str = "read") -> Webhook:
        return find_for(Webhook.objects.live(), self.principal, webhook_id, action, "webhook")


class WebhooksView(ApiView):
    @operation(
        summary="Subscribe an address to events. The secret is shown once.",
        resource=RESOURCE,
        action="create",
        body=WebhookIn,
        answers={201: responses.WebhookWithSecret},
        errors=(409,),
        secrets=("secret",),
    )
    def post(self, request: Request, body: WebhookIn) -> responses.WebhookWithSecret:
        return _with_secret(endpoints.create(self.principal, body))

    @operation(
        summary="List webhooks. The values of a URL's query are masked.",
        resource=RESOURCE,
        action="read",
        query=WebhookQuery,
        answers={200: responses.WebhookList},
    )
    def get(self, request: Request, query: WebhookQuery) -> responses.WebhookList:
        webhooks = Webhook.objects.live().visible_to(self.principal)
        if query.status is not None:
            webhooks = webhooks.filter(status=query.status)
        rows, pagination = page(webhooks, query, ORDER, owner=self.principal.organization.pk)
        return responses.WebhookList([responses.webhook_out(row, masked=True) for row in rows], pagination)


class WebhookDetailView(WebhookView):
    @operation(summary="Read a webhook.", resource=RESOURCE, action="read", answers={200: responses.WebhookAnswer})
    def get(self, request: Request, webhook_id: UUID) -> responses.WebhookAnswer:
        return responses.WebhookAnswer(responses.webhook_out(self.webhook(webhook_id)))

    @operation(
        summary="Change a webhook. Another scheme, host or port creates a new secret.",
        resource=RESOURCE,
        action="update",
        body=WebhookPatch,
        answers={200: responses.WebhookWithSecret},
    )
    def patch(self, request: Request, webhook_id: UUID, body: WebhookPatch) -> responses.WebhookWithSecret:
        return _with_secret(endpoints.change(self.principal, self.webhook(webhook_id, "update").pk, body))

    @operation(
        summary="Delete a webhook. Autotune sends nothing to it any more.",
        resource=RESOURCE,
        action="delete",
        answers={204: None},
    )
    def delete(self, request: Request, webhook_id: UUID) -> None:
        endpoints.delete(self.webhook(webhook_id, "delete").pk)


class WebhookRotateSecretView(WebhookView):
    @operation(
        summary="Rotate the secret. The new one is shown once; the previous one also signs for 24 hours.",
        resource=RESOURCE,
        action="update",
        body=WebhookRotate,
        needs_body=False,
        answers={200: responses.WebhookWithSecret},
        errors=(409,),
        secrets=("secret",),
    )
    def post(self, request: Request, webhook_id: UUID, body: WebhookRotate) -> responses.WebhookWithSecret:
        return _with_secret(endpoints.rotate(self.webhook(webhook_id, "update").pk, force=bool(body.force)))


class WebhookTestView(WebhookView):
    @operation(
        summary="Send a test event only to this endpoint, and report the result.",
        resource=RESOURCE,
        action="update",
        answers={200: responses.DeliveryAnswer},
        errors=(429,),
        calls_out=True,
    )
    def post(self, request: Request, webhook_id: UUID) -> responses.DeliveryAnswer:
        return responses.DeliveryAnswer(responses.delivery_out(trying.test(self.webhook(webhook_id, "update").pk)))


class WebhookDeliveriesView(WebhookView):
    @operation(
        summary="List the deliveries to a webhook, the newest first.",
        resource=RESOURCE,
        action="read",
        query=DeliveryQuery,
        answers={200: responses.DeliveryList},
    )
    def get(self, request: Request, webhook_id: UUID, query: DeliveryQuery) -> responses.DeliveryList:
        deliveries = Delivery.objects.filter(webhook=self.webhook(webhook_id)).select_related("event")
        if query.status is not None:
            deliveries = deliveries.filter(status=query.status)
        deliveries = deliveries.defer("event__body", "event__data")
        rows, pagination = page(deliveries, query, DELIVERY_ORDER, owner=self.principal.organization.pk)
        return responses.DeliveryList([responses.delivery_out(row) for row in rows], pagination)


class WebhookRedeliverView(WebhookView):
    @operation(
        summary="Deliver an event to this endpoint again.",
        resource=RESOURCE,
        action="update",
        answers={202: responses.DeliveryAnswer},
        errors=(409,),
    )
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> responses.DeliveryAnswer:
        webhook = self.webhook(webhook_id, "update")
        return responses.DeliveryAnswer(responses.delivery_out(trying.redeliver(webhook.pk, delivery_id)))


def _with_secret(change: endpoints.WebhookChange) -> responses.WebhookWithSecret:
    return responses.WebhookWithSecret(responses.webhook_out(change.webhook), change.secret)
