"""Admin pages of export jobs and their files, read-only except that an export that has not ended can be cancelled."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from autotune.access.models import Organization
from autotune.core.admin import figures
from autotune.core.admin.actions import confirmed, each
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, ReadOnlyMixin, plain
from autotune.core.admin.cells import figure, linked, moment, state
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.admin.lists import named
from autotune.core.errors import Conflict
from autotune.core.pages.formats import byte_size, number
from exports.models import Export, ExportFile
from exports.states import UNFINISHED, ExportStatus
from exports.work import ending
from exports.work.responses import progress


@admin.action(description="Cancel the selected exports", permissions=["cancel"])
@confirmed(
    "Cancel these exports?",
    warning="Their files are deleted. Exports that have already ended do not change.",
    button="Cancel the exports",
)
def cancel(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Export]) -> None:
    each(model_admin, request, queryset, _cancel, "cancelled")


def _cancel(export: Export) -> None:
    if export.status == ExportStatus.CANCELLED:
        raise Conflict("The export was already cancelled.", code="export_over")
    ending.cancel(export.pk)


class FilesInline(NewestRowsInline):
    model = ExportFile
    verbose_name_plural = "newest files"
    fields = ("kind", "number", figure("rows", number), figure("bytes", byte_size, "size"), "sha256", "created_at")
    hidden = ("values", "facts", "stored_as")


@admin.register(Export)
class ExportAdmin(PublicIdSearchMixin, ProductPageMixin, ReadOnlyMixin, admin.ModelAdmin):
    """Shows an export's query and progress. The key of its files is never shown."""

    kind = "exp"
    finds = MappingProxyType({"org": "organization_id", "user": "created_by_id", "key": "api_key_id"})
    page_name = "export"
    actions = (cancel,)
    list_display = (
        "public_id", state(), "share", figure("rows", number), figure("bytes", byte_size, "size"),
        linked("organization", order="organization__name"), linked("created_by", "requested by"),
        moment("created_at", "requested"),
        moment("expires_at", "expires"),
    )  # fmt: skip
    list_filter = ("status", named(Organization, "org"), "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "created_by__email")
    search_help_text = "Part of an organization's name or of an email address, or an id (exp_…, org_…, user_… or key_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-id",)
    inlines = (FilesInline,)
    fieldsets = (
        (None, {"fields": ("public_id", state(), "organization", "created_by", "reach", "query")}),
        ("Progress", {"fields": (
            "share", ("expected", "rows", "left_out"), "bytes", ("attempt", "failures"), "leased_until",
        )}),
        ("Result", {"fields": (
            "sha256", "metadata_shown", "error_code", "error_message", "storage_host", "storage_id",
        )}),
        ("Times", {"fields": ("created_at", "started_at", "completed_at", "expires_at")}),
    )  # fmt: skip
    readonly_fields = ("public_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Export]:
        exports = super().get_queryset(request).select_related("organization", "created_by")
        return exports.defer("file_key", "created_by__password")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("exports.change_export")

    @admin.display(description="progress")
    def share(self, export: Export) -> str:
        return f"{progress(export):.0%}"

    @admin.display(description="metadata")
    def metadata_shown(self, export: Export) -> str:
        return format_html("<pre>{}</pre>", plain(export, "metadata"))


@admin.register(ExportFile)
class ExportFileAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """Lists export files. Their contents can be read only through the API."""

    finds = MappingProxyType({"exp": "export_id", "org": "export__organization_id"})
    list_display = (
        "name", linked("export"), "kind", figure("rows", number), figure("bytes", byte_size, "size"),
        moment("created_at"),
    )  # fmt: skip
    list_filter = ("kind", named(Organization, "org", "export__organization"), "created_at")
    list_select_related = ("export",)
    search_fields = ("name", "=sha256")
    search_help_text = "Part of a name, a complete SHA-256, or an id (exp_… or org_…)"
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("export", "kind", "number", "name", "stored_as", "rows", "bytes", "sha256", "first", "last", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExportFile]:
        return super().get_queryset(request).select_related("export").defer("values", "facts", "export__file_key")


figures.register("Exports in progress", Export, lambda: Export.objects.filter(status__in=UNFINISHED), "", tone="busy")
