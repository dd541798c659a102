"""The read-only admin pages of the audit log."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.access.models import AuditChain, AuditEvent, Organization
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import linked, moment, state
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named


@admin.register(AuditEvent)
class AuditEventAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """Audit events, the newest first, and at most 10,000 of those that the filters select."""

    kind = "aud"
    finds = MappingProxyType({"org": "organization_id", "user": "user_id", "key": "key_id"})
    related = ("organization", "user", "key")
    list_display = (
        moment("at", "when", order=""), "actor", "action", "object_id", state("outcome", order=""), "status", "code",
        "address", linked("organization"),
    )  # fmt: skip
    list_display_links = ("action",)
    list_filter = ("outcome", "resource", named(Organization, "org"), CreatedWithin)
    list_select_related = ("organization",)
    search_fields = ("=actor", "=action", "=object_id", "=request_id", "=code")
    search_help_text = (
        "Exactly an actor, action, object id, request id or code; or an id of an event, organization, person or key"
    )
    fieldsets = (
        (None, {"fields": ("public_id", "at", state("outcome", order=""), "status", "code")}),
        ("Who", {"fields": ("actor", "user", "key", "organization", "address")}),
        ("What", {"fields": ("action", "resource", "object_id", "objects_count", "fields")}),
        ("Request", {"fields": ("method", "route", "request_id")}),
        ("Seal", {"fields": ("number",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        events = super().get_queryset(request).select_related(*self.related)
        return events.defer("mac", "digest", "key__digest", "user__password")


@admin.register(AuditChain)
class AuditChainAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The last sealed event of each chain."""

    finds = MappingProxyType({"org": "chain"})
    list_display = ("chain", "number", moment("sealed_at"))
    list_filter = ("sealed_at",)
    search_fields = ("=chain",)
    search_help_text = "A chain as the list shows it, or its organization's id (org_…)"
    show_full_result_count = False
    ordering = ("-sealed_at",)
    fields = ("chain", "number", "sealed_at")
