"""Admin pages of webhooks, which show endpoints, switch them off and on, and deliver events again.

Subscribing is left to the API. The data of events is not shown, since customers and graders wrote it.
"""

from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin import figures
from autotune.core.admin.actions import CALLED_AT_ONCE, confirmed, each
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, ReadOnlyMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, linked, list_url, moment, state
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from autotune.core.errors import Conflict
from autotune.webhooks import endpoints, trying
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.responses import mask
from autotune.webhooks.states import DeliveryStatus

OrganizationFilter = named(Organization, "org")
SECRETS = ("secret", "previous_secret")


@admin.action(description="Switch off the selected webhooks", permissions=["switch"])
@confirmed(
    "Switch off these webhooks?",
    warning="Autotune sends nothing to them any more, and parks their pending deliveries. After you switch them on "
    "again, deliver the parked events again one by one.",
    button="Switch them off",
)
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
    each(model_admin, request, queryset, lambda webhook: endpoints.switch(webhook.pk, on=False), "switched off")


@admin.action(description="Switch on the selected webhooks", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
    each(model_admin, request, queryset, lambda webhook: endpoints.switch(webhook.pk, on=True), "switched on")


@admin.action(description="Send a test event to the selected webhooks", permissions=["switch"])
def send_test(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
    each(model_admin, request, queryset, _test, "answered the test", most=CALLED_AT_ONCE)


def _test(webhook: Webhook) -> None:
    """raises  Conflict if the test was not delivered, TooManyRequests, NotFound"""
    delivery = trying.test(webhook.pk)
    if delivery.status != DeliveryStatus.DELIVERED:
        last = delivery.tries[-1] if delivery.tries else {}
        raise Conflict(
            f"The test was not delivered: {last.get('status') or last.get('error') or 'no answer'}.", code="test"
        )


@admin.action(description="Deliver the selected events again", permissions=["redeliver"])
def redeliver(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
    each(model_admin, request, queryset, lambda row: trying.redeliver(row.webhook_id, row.pk), "due now")


class DeliveriesInline(NewestRowsInline):
    """The newest deliveries of a webhook, or all of an event's."""

    model = Delivery
    verbose_name_plural = "newest deliveries"
    fields = (state(), "event_kind", "attempt", "last_answer", "next_at", "created_at", "ended_at")
    related = ("event", "webhook")
    hidden = ("event__data", "event__body", "webhook__secret", "webhook__previous_secret", "webhook__url")
    fk_name = "webhook"

    @admin.display(description="event")
    def event_kind(self, row: Delivery) -> str:
        return row.event.kind

    @admin.display(description="last answer")
    def last_answer(self, row: Delivery) -> str:
        return _last_answer(row)


class EventDeliveriesInline(DeliveriesInline):
    verbose_name_plural = "deliveries"
    fields = (state(), linked("webhook"), "attempt", "last_answer", "next_at", "created_at", "ended_at")
    fk_name = "event"


@admin.register(Webhook)
class WebhookAdmin(PublicIdSearchMixin, ProductPageMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The endpoints, without their secrets. The values of a URL's query are masked."""

    kind = "whk"
    finds = MappingProxyType({"org": "organization_id", "user": "created_by_id"})
    page_name = "webhook"
    list_display = (
        "public_id", "current_state", linked("organization", order="organization__name"), "address", "kinds",
        moment("failing_since", "failing since"), moment("created_at"),
    )  # fmt: skip
    list_filter = (
        "status", ("failing_since", admin.EmptyFieldListFilter), ("deleted_at", admin.EmptyFieldListFilter),
        OrganizationFilter,
    )  # fmt: skip
    list_select_related = ("organization",)
    search_fields = ("organization__name", "description", "created_by__email")
    search_help_text = "Part of an organization's name, description or email, or an id (whk_…, org_… or user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-id",)
    actions = (send_test, switch_off, switch_on)
    inlines = (DeliveriesInline,)
    fieldsets = (
        (None, {"fields": ("public_id", "organization", "current_state", "disabled_reason", "failing_since")}),
        ("Subscription", {"fields": ("address", "kinds", "own_only", "description")}),
        ("Secrets (never shown)", {"fields": ("previous_valid_until",)}),
        ("Times", {"fields": ("created_by", "created_at", "updated_at", "deleted_at", "deliveries_link")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        return super().get_queryset(request).select_related("organization", "created_by").defer(*SECRETS)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_webhook")

    @admin.display(description="state", ordering="status")
    def current_state(self, row: Webhook) -> SafeString:
        if row.deleted_at is not None:
            return badge("deleted")
        return badge("failed", "failing") if row.failing_since and row.status == "active" else badge(row.status)

    @admin.display(description="URL")
    def address(self, row: Webhook) -> str:
        return mask(plain(row, "url"))

    @admin.display(description="events")
    def kinds(self, row: Webhook) -> str:
        return ", ".join(row.events)

    @admin.display(description="all deliveries")
    def deliveries_link(self, row: Webhook) -> SafeString:
        return anchor(list_url(Delivery, webhook=row.public_id), "List deliveries")


class WebhookFilter(named(Webhook, "whk")):  # type: ignore[misc]
    """Find webhooks by id: they have no name."""

    def _matching_ids(self) -> list[Any]:
        try:
            return [ids.decode("whk", self.search)]
        except ValueError:
            return []


@admin.register(Event)
class EventAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The events of the outbox."""

    kind = "evt"
    finds = MappingProxyType(
        {"org": "organization_id"} | dict.fromkeys(("comp", "score", "run", "rev", "exp", "grader"), "subject_id")
    )
    list_display = ("public_id", "event_kind", linked("organization"), "progress", moment("created_at", order=""))
    list_filter = ("kind", ("fanned_out_at", admin.EmptyFieldListFilter), OrganizationFilter, CreatedWithin)
    list_select_related = ("organization",)
    search_fields = ("=kind",)
    search_help_text = "The id of an event, of an organization or of the event's subject, or an exact kind"
    inlines = (EventDeliveriesInline,)
    fields = ("public_id", "event_kind", "organization", "subject_id", "progress", "created_at", "fanned_out_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("data", "body")

    @admin.display(description="kind")
    def event_kind(self, row: Event) -> str:
        return row.kind

    @admin.display(description="state")
    def progress(self, row: Event) -> SafeString:
        return badge("delivered", "fanned out") if row.fanned_out_at else badge("pending", "waits")


@admin.register(Delivery)
class DeliveryAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The deliveries of events to endpoints."""

    kind = "dlv"
    finds = MappingProxyType({"whk": "webhook_id", "evt": "event_id", "org": "webhook__organization_id"})
    related = ("webhook__organization", "event")
    list_display = (
        "public_id", state(order=""), "event_kind", "attempt", "last_answer", "to",
        moment("next_at", "next try", order=""),
        moment("created_at", order=""), moment("ended_at", order=""),
    )  # fmt: skip
    list_filter = (
        "status", "event__kind", WebhookFilter, named(Organization, "org", "webhook__organization"), CreatedWithin,
    )  # fmt: skip
    list_select_related = related
    search_fields = ("webhook__organization__name",)
    search_help_text = "The id of a delivery, webhook, event or organization, or part of an organization's name"
    actions = (redeliver,)
    fieldsets = (
        (None, {"fields": ("public_id", state(order=""), "event_link", "to")}),
        ("Tries", {"fields": (("attempt", "failures"), "last_answer", "tries")}),
        ("Times", {"fields": ("created_at", "queued_at", "next_at", "leased_until", "ended_at")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        hidden = ("event__data", "event__body", "webhook__secret", "webhook__previous_secret")
        return super().get_queryset(request).select_related(*self.related).defer(*hidden)

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_delivery")

    @admin.display(description="event")
    def event_kind(self, row: Delivery) -> str:
        return row.event.kind

    @admin.display(description="event")
    def event_link(self, row: Delivery) -> SafeString:
        return anchor(change_url(row.event), f"{row.event.kind} ({row.event.public_id})")

    @admin.display(description="to")
    def to(self, row: Delivery) -> SafeString:
        text = f"{row.webhook.organization}: {mask(plain(row.webhook, 'url'))}"
        return anchor(change_url(row.webhook), text)

    @admin.display(description="last answer")
    def last_answer(self, row: Delivery) -> str:
        return _last_answer(row)

    @admin.display(description="last tries")
    def tries(self, row: Delivery) -> SafeString | str:
        lines = [
            f"{entry['at']}  {entry['status'] or '–'}  {entry['latencyMs']} ms  {entry['error'] or ''}"
            + (f"\n    {entry['excerpt']}" if entry["excerpt"] else "")
            for entry in reversed(row.tries)
        ]
        return format_html("<pre>{}</pre>", "\n".join(lines)) if lines else "–"


def _last_answer(row: Delivery) -> str:
    if not row.tries:
        return "–"
    last = row.tries[-1]
    return str(last["status"] or last["error"])


figures.register(
    "Failing webhooks", Webhook, lambda: Webhook.objects.active().exclude(failing_since=None),
    "status__exact=active&failing_since__isempty=0", tone="bad",
)  # fmt: skip
figures.register(
    "Parked deliveries", Delivery, lambda: Delivery.objects.filter(status=DeliveryStatus.PARKED), "status__exact=parked"
)
