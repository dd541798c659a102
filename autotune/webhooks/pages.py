"""The pages of webhooks. A secret is shown only in the response to the form that created it."""

from typing import Any, Literal
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, once, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.access.views import find_for
from autotune.core import clock, ids
from autotune.core.api.pagination import page as cut
from autotune.core.crypto.fields import LegibleRow
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from autotune.webhooks import endpoints, responses, trying
from autotune.webhooks.api import DELIVERY_ORDER, ORDER
from autotune.webhooks.events import examples
from autotune.webhooks.forms import WebhookForm
from autotune.webhooks.models import Delivery, Webhook
from autotune.webhooks.requests import DeliveryQuery, WebhookIn, WebhookPatch, WebhookQuery
from autotune.webhooks.states import DeliveryStatus, WebhookStatus

FIELDS = ("url", "events", "description")


@page(("webhooks", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List webhooks; the values of an address's query are masked."""
    principal = request.principal
    list_request = listing.read(request, WebhookQuery)
    webhooks = Webhook.objects.live().visible_to(principal)
    if list_request.query.status is not None:
        webhooks = webhooks.filter(status=list_request.query.status)
    rows, pagination = cut(webhooks, list_request.query, ORDER, owner=principal.organization.pk)
    names = people.EmailAddresses(principal, [row.created_by_id for row in rows])
    context = {
        "title": "Webhooks",
        "crumbs": places.crumbs(),
        "rows": [
            {"hook": row, "out": responses.webhook_out(row, masked=True), "who": names.of(row.created_by_id)}
            for row in rows
        ],
        "asked": list_request,
        "states": WebhookStatus.values,
        "pager": listing.pager(pagination, len(rows)),
        "may_create": policy.reach(principal, "webhooks", "create") is not None,
        "reach": policy.reach(principal, "webhooks", "read"),
    }
    return render(request, "webhooks/list.html", context)


@page(("webhooks", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponse:
    """Subscribe an address; the page after the form shows its secret once."""
    principal = request.principal
    form = WebhookForm(principal, request.POST or None)
    acting.concerns("webhooks", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(WebhookIn)
            change = once.do(request, lambda: endpoints.create(principal, body))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("webhooks", "create", change.webhook.public_id, fields=FIELDS)
            return _secret_page(request, change, "The webhook was created")
    return _form(request, form, "Add a webhook", places.crumbs(("Webhooks", reverse("webhooks"))))


@page(("webhooks", "update"), methods=("GET", "HEAD", "POST"))
def edit(request: PageRequest, webhook_id: UUID) -> HttpResponseBase:
    """Change a webhook; another host creates a new secret, which the next page shows once."""
    principal = request.principal
    webhook = _webhook(principal, webhook_id, "update")
    initial = {"url": LegibleRow(webhook).url, "events": webhook.events, "description": webhook.description}
    form = WebhookForm(principal, request.POST or None, initial=initial, subscribed=webhook.events)
    acting.concerns("webhooks", "update", webhook.public_id, fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(WebhookPatch)
            change = once.do(request, lambda: endpoints.change(principal, webhook_id, body))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            if change.secret is not None:
                return _secret_page(request, change, "The webhook has a new secret")
            messages.success(request, "The webhook is saved.")
            return redirect("webhook", webhook_id)
    above = places.crumbs(("Webhooks", reverse("webhooks")), (_host(webhook), reverse("webhook", args=[webhook_id])))
    return _form(request, form, "Change the webhook", above, webhook=webhook)


@page(("webhooks", "read"))
def webhook_page(request: PageRequest, webhook_id: UUID) -> HttpResponse:
    """Show a webhook with its deliveries, the newest first."""
    return _page(request, _webhook(request.principal, webhook_id))


@page(("webhooks", "update"), methods=("POST",))
def test(request: PageRequest, webhook_id: UUID) -> HttpResponseBase:
    """Send a test event, and report its result."""
    webhook = _webhook(request.principal, webhook_id, "update")
    acting.concerns("webhooks", "update", webhook.public_id)
    deliveries: list[responses.DeliveryOut] = []
    if acting.attempt(
        request, lambda: deliveries.append(responses.delivery_out(trying.test(webhook.pk))), calls_out=True
    ):
        _report_test(request, deliveries[0])
    return redirect("webhook", webhook_id)


@page(("webhooks", "update"), methods=("POST",))
def switch(request: PageRequest, webhook_id: UUID) -> HttpResponseBase:
    """Switch a webhook off, or on again."""
    webhook = _webhook(request.principal, webhook_id, "update")
    to: Literal["active", "disabled"] = "active" if request.POST.get("to") == "active" else "disabled"
    acting.concerns("webhooks", "update", webhook.public_id, fields=("status",))
    body = WebhookPatch(status=to)
    message = "Autotune sends events to it again." if to == "active" else "Its pending deliveries are parked."
    acting.attempt(request, lambda: endpoints.change(request.principal, webhook.pk, body), toast=message)
    return redirect("webhook", webhook_id)


@page(("webhooks", "update"), methods=("POST",))
def rotate(request: PageRequest, webhook_id: UUID) -> HttpResponse:
    """Rotate the secret, and show the new one once; the previous one also signs for a day."""
    webhook = _webhook(request.principal, webhook_id, "update")
    acting.concerns("webhooks", "update", webhook.public_id, fields=("secret",))
    force = request.POST.get("force") == "yes"
    try:
        change = once.do(request, lambda: endpoints.rotate(webhook.pk, force=force))
    except AutotuneError as exc:
        return _page(request, webhook, refused=exc)
    return _secret_page(request, change, "The webhook has a new secret")


@page(("webhooks", "delete"), methods=("POST",))
def delete(request: PageRequest, webhook_id: UUID) -> HttpResponseBase:
    """Delete a webhook."""
    webhook = _webhook(request.principal, webhook_id, "delete")
    acting.concerns("webhooks", "delete", webhook.public_id)
    message = f"The webhook to {_host(webhook)} is deleted."
    is_deleted = acting.attempt(request, lambda: endpoints.delete(webhook.pk), toast=message)
    return redirect("webhooks") if is_deleted else redirect("webhook", webhook_id)


@page(("webhooks", "update"), methods=("POST",))
def redeliver(request: PageRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponseBase:
    """Deliver an event again."""
    webhook = _webhook(request.principal, webhook_id, "update")
    acting.concerns("webhooks", "update", ids.encode("dlv", delivery_id))
    message = "The event is queued for delivery now, with the same id and body."
    acting.attempt(request, lambda: trying.redeliver(webhook.pk, delivery_id), toast=message)
    return redirect("webhook", webhook_id)


def _page(request: PageRequest, webhook: Webhook, refused: AutotuneError | None = None) -> HttpResponse:
    principal = request.principal
    list_request = listing.read(request, DeliveryQuery, limit=20)
    deliveries = Delivery.objects.filter(webhook=webhook).select_related("event").defer("event__body", "event__data")
    if list_request.query.status is not None:
        deliveries = deliveries.filter(status=list_request.query.status)
    rows, pagination = cut(
        deliveries, list_request.query, DELIVERY_ORDER, owner=principal.organization.pk, counted=False
    )
    for row in rows:
        row.webhook = webhook  # its organization's data key decrypts the log
    rotating = webhook.previous_valid_until is not None and webhook.previous_valid_until > clock.database_now()
    context = {
        "title": _host(webhook),
        "crumbs": places.crumbs(("Webhooks", reverse("webhooks"))),
        "hook": webhook,
        "out": responses.webhook_out(webhook),
        "who": people.EmailAddresses(principal, [webhook.created_by_id]).of(webhook.created_by_id),
        "rows": [{"delivery": row, "out": responses.delivery_out(row)} for row in rows],
        "asked": list_request,
        "statuses": DeliveryStatus.values,
        "pager": listing.pager(pagination, len(rows)),
        "may_update": _may(principal, webhook, "update"),
        "may_delete": _may(principal, webhook, "delete"),
        "examples": examples.of(webhook.events, webhook.organization_id),
        "rotating": rotating,
        "rotate_ticket": once.ticket_for(request, reverse("webhook_rotate", args=[webhook.pk])),
        "refused": refused,
        "here": reverse("webhook", args=[webhook.pk]) if refused else request.get_full_path(),
    }
    return render(request, "webhooks/webhook.html", context, status=refused.status if refused else 200)


def _form(request: PageRequest, form: WebhookForm, title: str, above: Any, webhook: Any = None) -> HttpResponse:
    context = {
        "title": title,
        "crumbs": above,
        "form": form,
        "hook": webhook,
        "ticket": once.ticket(request),
        "examples": examples.of(form.offered, request.principal.organization.pk),
    }
    return render(request, "webhooks/form.html", context, status=400 if form.errors else 200)


def _secret_page(request: PageRequest, change: endpoints.WebhookChange, title: str) -> HttpResponse:
    """Show the new secret: no other page has it."""
    context = {
        "title": title,
        "crumbs": places.crumbs(("Webhooks", reverse("webhooks"))),
        "hook": change.webhook,
        "secret": change.secret,
    }
    return render(request, "webhooks/secret.html", context, status=201)


def _report_test(request: PageRequest, out: responses.DeliveryOut) -> None:
    last = out.tries[0] if out.tries else None
    if out.status == "delivered" and last is not None:
        took = f"{last.latency_ms or 0:.0f} ms"
        messages.success(request, f"The test was delivered: it answered {last.status} in {took}.")
    elif last is None:
        messages.warning(request, "The test was sent, but its result is unknown.")
    else:
        why = last.error or f"it answered {last.status}"
        messages.error(request, f"The test was not delivered: {why[:300]}")


def _webhook(principal: Principal, webhook_id: UUID, action: str = "read") -> Webhook:
    webhook: Webhook = find_for(Webhook.objects.live(), principal, webhook_id, action, "webhook")
    return webhook


def _may(principal: Principal, webhook: Webhook, action: str) -> bool:
    return Webhook.objects.live().allowed(principal, action).filter(pk=webhook.pk).exists()


def _host(webhook: Webhook) -> str:
    """Return the name of a webhook: its address without the parts that may be a secret."""
    url = LegibleRow(webhook).url
    return webhook.public_id if url is None else responses.mask(url).removeprefix("https://")[:80]
