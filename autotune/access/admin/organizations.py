"""Admin page of organizations."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from autotune.access.admin.keys import KeysInline
from autotune.access.admin.members import MembersInline
from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin
from autotune.core.admin.cells import badge
from autotune.core.admin.inlines import InlinesMixin


@admin.register(Organization)
class OrganizationAdmin(InlinesMixin, PublicIdSearchMixin, admin.ModelAdmin):
    """Rename and suspend organizations. Which one operates the installation is decided when it is created."""

    kind = "org"
    list_display = ("name", "current_state", "members", "texts_kept", "scores_kept", "created_at")
    list_filter = ("operating", "suspended", "created_at")
    search_fields = ("name",)
    search_help_text = "A part of a name, or an id (org_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("name",)
    fieldsets = (
        (None, {"fields": ("public_id", "name", "operating", "suspended", "created_at")}),
        ("Retention (days; empty: no limit)", {"fields": (("text_days", "score_days"),)}),
        ("Related lists", {"fields": ("theirs",)}),
    )
    readonly_fields = ("public_id", "operating", "created_at", "theirs")
    inlines = (MembersInline, KeysInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organization]:
        return (
            super().get_queryset(request).annotate(people=Count("membership", filter=Q(membership__user__isnull=False)))
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="id")
    def public_id(self, organization: Organization) -> str:
        return ids.encode("org", organization.pk)

    @admin.display(description="state", ordering="suspended")
    def current_state(self, organization: Organization) -> SafeString:
        if organization.suspended:
            return badge("suspended")
        return badge("busy", "operates this installation") if organization.operating else badge("active")

    @admin.display(ordering="people")
    def members(self, organization: Any) -> int:
        return int(organization.people)

    @admin.display(description="texts kept", ordering="text_days")
    def texts_kept(self, organization: Organization) -> str:
        return _days(organization.text_days)

    @admin.display(description="scores kept", ordering="score_days")
    def scores_kept(self, organization: Organization) -> str:
        return _days(organization.score_days)

    @admin.display(description="lists")
    def theirs(self, organization: Organization) -> SafeString:
        """Return links to the organization's lists in other apps, by URL name, since this app cannot import them."""
        changelists = (
            ("members", "access_membership"), ("keys", "access_apikey"), ("graders", "graders_grader"),
            ("tasks", "tasks_task"), ("completions", "tasks_completion"), ("workflow runs", "scores_workflowrun"),
            ("exports", "exports_export"), ("webhooks", "webhooks_webhook"), ("audit log", "access_auditevent"),
        )  # fmt: skip
        public_id = self.public_id(organization)
        links = (
            (f"{reverse(f'admin:{page}_changelist')}?organization={public_id}", text) for text, page in changelists
        )
        return format_html_join(" · ", '<a href="{}">{}</a>', links)


def _days(days: int | None) -> str:
    return "for good" if days is None else f"{days:,} days"
