"""Admin pages of asynchronous calls: which are open, and which runs have a callback. Signatures are not shown."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import badge, linked, moment
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from graders.models import Grader
from scores.models import Callback, CallbackItem

SECRETS = ("token_digest", "signature")


class ItemsInline(NewestRowsInline):
    model = CallbackItem
    verbose_name_plural = "workflow runs of the request"
    fields = (linked("run"), "attempt", "is_recorded")
    related = ("run",)
    hidden = ("run__steps", "run__error_message", "callback__token_digest")

    @admin.display(description="recorded", boolean=True)
    def is_recorded(self, row: CallbackItem) -> bool:
        return row.body_digest is not None


@admin.register(Callback)
class CallbackAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The admin page of asynchronous attempts."""

    finds = MappingProxyType({"grader": "grader_id", "run": "items__run_id"})
    list_display = (
        "request_id", "current_state", linked("grader"), "kind", moment("created_at", "sent", order=""),
        moment("expires_at", order=""),
    )  # fmt: skip
    list_filter = ("kind", named(Grader, "grader"), CreatedWithin, "expires_at")
    list_select_related = ("grader",)
    search_fields = ("=request_id", "grader__name")
    search_help_text = "Exactly a request's id, a part of a grader's name, or an id (grader_… or run_…)"
    inlines = (ItemsInline,)
    fieldsets = (
        (None, {"fields": ("request_id", "current_state", "grader", "grader_version")}),
        ("Request", {"fields": ("kind", ("include_dimensions", "include_explanation"), "created_at", "expires_at")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Callback]:
        return super().get_queryset(request).select_related("grader", "grader_version").defer(*SECRETS)

    @admin.display(description="state")
    def current_state(self, row: Callback) -> SafeString:
        return badge("expired") if row.expires_at <= timezone.now() else badge("waiting", "may be answered")


@admin.register(CallbackItem)
class CallbackItemAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The admin page of the runs of asynchronous attempts."""

    finds = MappingProxyType({"run": "run_id", "grader": "callback__grader_id"})
    list_display = ("id", linked("run"), "attempt", linked("callback"), "is_recorded")
    list_filter = ("callback__kind", named(Grader, "grader", "callback__grader"), "callback__created_at")
    list_select_related = ("run", "callback")
    search_fields = ("=callback__request_id",)
    search_help_text = "Exactly a request's id, or an id (run_… or grader_…)"
    fields = ("run", "attempt", "callback", "is_recorded")
    readonly_fields = ("is_recorded",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CallbackItem]:
        queryset = super().get_queryset(request).select_related("run", "callback")
        return queryset.defer("run__steps", "callback__token_digest", "callback__signature")

    @admin.display(description="recorded", boolean=True)
    def is_recorded(self, row: CallbackItem) -> bool:
        return row.body_digest is not None
