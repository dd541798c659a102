"""Admin page of the responses that are stored for repeated requests."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.admin.filters import OrganizationFilter
from autotune.access.models import StoredAnswer
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import badge, linked, moment
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin


@admin.register(StoredAnswer)
class StoredAnswerAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """Requests with a stored response, and when it expires; neither keys nor responses are shown."""

    finds = MappingProxyType({"org": "organization_id"})
    list_display = ("route", linked("organization"), "answered", moment("created_at"), moment("expires_at"))
    list_filter = (OrganizationFilter, CreatedWithin)
    list_select_related = ("organization",)
    search_fields = ("route",)
    search_help_text = "A part of a method and path, or an organization's id (org_…)"
    fields = ("route", "organization", "answered", "created_at", "expires_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredAnswer]:
        return super().get_queryset(request).defer("answer", "key_digest", "request_digest")

    @admin.display(description="status")
    def answered(self, row: StoredAnswer) -> SafeString:
        return badge("completed" if row.status < 400 else "failed", str(row.status))
