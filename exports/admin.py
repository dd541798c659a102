"""Admin pages of export jobs: records. One that is not over can be cancelled here as the API does it."""

from contextlib import suppress

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin import PublicIdSearch, Record
from autotune.core.errors import Conflict
from exports.job_shapes import progress
from exports.models import Export, ExportFile
from exports.states import UNFINISHED
from exports.work import ending


@admin.action(description="Cancel the selected exports", permissions=["cancel"])
def cancel(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Export]) -> None:
    unfinished = list(queryset.filter(status__in=UNFINISHED).values_list("pk", flat=True))
    cancelled = 0
    for export_id in unfinished:
        with suppress(Conflict):  # it ended meanwhile
            ending.cancel(export_id)
            cancelled += 1
    model_admin.message_user(request, f"{cancelled} exports were cancelled.")


@admin.register(Export)
class ExportAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """What was asked for and how far it is; never the key of its files."""

    kind = "exp"
    actions = (cancel,)
    list_display = ("public_id", "organization", "created_by", "status", "share", "rows", "created_at", "expires_at")
    list_filter = ("status", "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "created_by__email")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "public_id", "organization", "created_by", "reach", "query", "status", "expected", "rows", "left_out", "bytes",
        "attempt", "failures", "leased_until", "sha256", "metadata", "error_code", "error_message", "created_at",
        "started_at", "completed_at", "expires_at",
    )  # fmt: skip
    readonly_fields = ("public_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        return super().get_queryset(request).defer("file_key")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("exports.change_export")

    @admin.display(description="progress")
    def share(self, export: Export) -> str:
        return f"{progress(export):.0%}"


@admin.register(ExportFile)
class ExportFileAdmin(Record, admin.ModelAdmin):
    """The files; what is in them is read through the API alone."""

    list_display = ("name", "export", "kind", "rows", "bytes", "created_at")
    list_filter = ("kind", "created_at")
    list_select_related = ("export",)
    search_fields = ("name", "=sha256")
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("export", "kind", "number", "name", "stored_as", "rows", "bytes", "sha256", "first", "last", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExportFile]:
        return super().get_queryset(request).defer("values", "facts", "export__file_key")
