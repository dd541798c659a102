"""The admin page of the audit trail: read, and nothing else."""

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.access.models import AuditChain, AuditEvent
from autotune.core.admin import PublicIdSearch, Record

COUNTED = 10_000


class BoundedPaginator(Paginator):
    """Counts to a bound alone: a trail is long."""

    @property
    def count(self) -> int:
        if not hasattr(self, "_bounded"):
            rows: Any = self.object_list
            self._bounded = len(rows.order_by().values_list("pk", flat=True)[:COUNTED])
        return self._bounded


@admin.register(AuditEvent)
class AuditEventAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Who did what; the newest first, and no more than 10,000 of what the filters name."""

    kind = "aud"
    list_display = ("at", "actor", "action", "object_id", "outcome", "status", "code", "address", "organization")
    list_filter = ("outcome", "resource", "at")
    list_select_related = ("organization",)
    search_fields = ("=actor", "=action", "=object_id", "=request_id", "=code")
    search_help_text = "An event's id, or exactly an actor, action, object id, request id or code"
    show_full_result_count = False
    paginator = BoundedPaginator
    ordering = ("-id",)
    fields = (
        "public_id", "at", "organization", "actor", "user", "key", "action", "resource", "object_id", "objects_count",
        "fields", "method", "route", "address", "outcome", "status", "code", "request_id", "number",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        return super().get_queryset(request).defer("mac", "digest")


@admin.register(AuditChain)
class AuditChainAdmin(Record, admin.ModelAdmin):
    """Where each chain ends."""

    list_display = ("chain", "number", "sealed_at")
    list_filter = ("sealed_at",)
    search_fields = ("=chain",)
    show_full_result_count = False
    ordering = ("-sealed_at",)
    fields = ("chain", "number", "sealed_at")
