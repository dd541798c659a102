"""Admin pages of webhooks. Subscribing is the API's; here endpoints are seen, switched off and on, and deliveries sent
again. What events say is not shown: it holds what customers and graders wrote."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record, plain
from autotune.core.errors import AutotuneError
from autotune.webhooks import endpoints, trying
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.shapes import mask


def _switch(model_admin: admin.ModelAdmin, request: HttpRequest, webhooks: QuerySet[Webhook], *, on: bool) -> None:
    for webhook in webhooks:
        try:
            endpoints.switch(webhook.pk, on=on)
        except AutotuneError as exc:
            model_admin.message_user(request, f"{webhook}: {exc.detail}", messages.ERROR)


@admin.action(description="Switch the selected webhooks off", permissions=["switch"])
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
    _switch(model_admin, request, queryset, on=False)


@admin.action(description="Switch the selected webhooks on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
    _switch(model_admin, request, queryset, on=True)


@admin.action(description="Deliver the selected ones again", permissions=["redeliver"])
def redeliver(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
    due = 0
    for delivery in queryset:
        try:
            trying.redeliver(delivery.webhook_id, delivery.pk)
            due += 1
        except AutotuneError as exc:
            model_admin.message_user(request, f"{delivery}: {exc.detail}", messages.ERROR)
    if due:
        model_admin.message_user(request, f"{due} deliveries are due now.")


@admin.register(Webhook)
class WebhookAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Which endpoints there are; never their secrets. The values of a URL's query are masked."""

    kind = "whk"
    list_display = ("public_id", "status", "organization", "address", "failing_since", "kinds", "created_at")
    list_filter = ("status", ("failing_since", admin.EmptyFieldListFilter), ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("organization",)
    search_fields = ("organization__name", "description", "created_by__email")
    show_full_result_count = False
    ordering = ("-id",)
    actions = (switch_off, switch_on)
    fields = (
        "public_id", "organization", "created_by", "address", "kinds", "own_only", "description", "status",
        "disabled_reason", "failing_since", "previous_valid_until", "created_at", "updated_at", "deleted_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        return super().get_queryset(request).defer("secret", "previous_secret")

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_webhook")

    @admin.display(description="URL")
    def address(self, row: Webhook) -> str:
        return mask(plain(row, "url"))

    @admin.display(description="events")
    def kinds(self, row: Webhook) -> str:
        return ", ".join(row.events)


@admin.register(Event)
class EventAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """The outbox."""

    kind = "evt"
    list_display = ("public_id", "kind", "organization", "created_at", "fanned_out_at")
    list_filter = ("kind", ("fanned_out_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("organization",)
    search_fields = ("organization__name",)
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("public_id", "kind", "organization", "subject_id", "created_at", "fanned_out_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("data", "body")


@admin.register(Delivery)
class DeliveryAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Events on their way to endpoints."""

    kind = "dlv"
    list_display = (
        "public_id", "status", "event_kind", "attempt", "last_answer", "to", "next_at", "created_at", "ended_at",
    )  # fmt: skip
    list_filter = ("status", "event__kind", "created_at")
    list_select_related = ("webhook__organization", "event")
    search_fields = ("webhook__organization__name",)
    show_full_result_count = False
    ordering = ("-id",)
    actions = (redeliver,)
    fields = (
        "public_id", "event_id_", "event_kind", "to", "status", ("attempt", "failures"), "queued_at", "next_at",
        "leased_until", "tries", "created_at", "ended_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        hidden = ("event__data", "event__body", "webhook__secret", "webhook__previous_secret")
        return super().get_queryset(request).defer(*hidden)

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_delivery")

    @admin.display(description="event", ordering="event__kind")
    def event_kind(self, row: Delivery) -> str:
        return row.event.kind

    @admin.display(description="event's id")
    def event_id_(self, row: Delivery) -> str:
        return ids.encode("evt", row.event_id)

    @admin.display(description="to")
    def to(self, row: Delivery) -> str:
        return f"{row.webhook.organization}: {mask(plain(row.webhook, 'url'))}"

    @admin.display(description="last answer")
    def last_answer(self, row: Delivery) -> str:
        if not row.tries:
            return "–"
        last = row.tries[-1]
        return str(last["status"] or last["error"])

    @admin.display(description="last tries")
    def tries(self, row: Delivery) -> SafeString | str:
        lines = [
            f"{entry['at']}  {entry['status'] or '–'}  {entry['latencyMs']} ms  {entry['error'] or ''}"
            + (f"\n    {entry['excerpt']}" if entry["excerpt"] else "")
            for entry in reversed(row.tries)
        ]
        return format_html("<pre>{}</pre>", "\n".join(lines)) if lines else "–"
