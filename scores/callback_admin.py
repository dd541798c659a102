"""Admin pages of asynchronous calls: which are open, and what came back. Signatures are not shown."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin import Record
from scores.models import Callback, CallbackItem


@admin.register(Callback)
class CallbackAdmin(Record, admin.ModelAdmin):
    """An attempt that may be answered later."""

    list_display = ("request_id", "grader", "kind", "created_at", "expires_at")
    list_filter = ("kind", "created_at", "expires_at")
    list_select_related = ("grader",)
    search_fields = ("=request_id", "grader__name")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "request_id", "grader", "grader_version", "kind", "include_dimensions", "include_explanation", "created_at",
        "expires_at",
    )  # fmt: skip


@admin.register(CallbackItem)
class CallbackItemAdmin(Record, admin.ModelAdmin):
    """A run of such an attempt."""

    list_display = ("run", "attempt", "callback", "is_recorded")
    list_filter = ("callback__kind", "callback__created_at")
    list_select_related = ("run", "callback")
    search_fields = ("=callback__request_id",)
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("run", "attempt", "callback", "is_recorded")
    readonly_fields = ("is_recorded",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CallbackItem]:
        return super().get_queryset(request).defer("run__steps")

    @admin.display(description="recorded", boolean=True)
    def is_recorded(self, row: CallbackItem) -> bool:
        return row.body_digest is not None
