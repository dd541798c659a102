"""Admin pages of graders: their state, and a filter for those that need attention."""

from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import labels
from autotune.core.admin import figures
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import anchor, badge, figure, linked, list_url, moment
from autotune.core.admin.lists import named
from autotune.core.pages.formats import brief, number
from graders.admin.actions import check_health, switch_off, switch_on, verify
from graders.admin.changes import StatusChangesInline
from graders.admin.checks import ChecksInline
from graders.admin.versions import GraderVersionsInline
from graders.models import (
    Grader,
    GraderCheck,
    GraderSecret,
    GraderStatistic,
    GraderStatusChange,
)
from graders.states import GraderStatus

OrganizationFilter = named(Organization, "org")


class TroubleFilter(admin.SimpleListFilter):
    """A filter for graders that need an operator's attention."""

    title, parameter_name = "needs attention", "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "degraded, paused or gone"), ("unverified", "never verified")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "yes":
                return _troubled(queryset)
            case "unverified":
                return queryset.filter(verified_at=None, deleted_at=None)
        return queryset


@admin.register(Grader)
class GraderAdmin(PublicIdSearchMixin, ProductPageMixin, ReadOnlyMixin, admin.ModelAdmin):
    kind = "grader"
    finds = MappingProxyType({"org": "organization_id", "user": "created_by_id", "graderv": "versions__pk"})
    page_name = "grader"
    related = ("organization", "version", "created_by")
    list_display = (
        "name", "current_state", "trouble", linked("organization", order="organization__name"), "visibility", "version",
        "endpoint_brief", moment("verified_at"), moment("checked_at"), "public_id",
    )  # fmt: skip
    list_filter = (
        "status", TroubleFilter, OrganizationFilter, "kind", "visibility", ("deleted_at", admin.EmptyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("organization", "version")
    search_fields = ("name", "description", "organization__name", "endpoint")
    search_help_text = "Part of a name, description, organization or endpoint, or an id (grader_…, org_…, user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-created_at",)
    actions = (verify, check_health, switch_off, switch_on)
    inlines = (ChecksInline, StatusChangesInline, GraderVersionsInline)
    fieldsets = (
        (None, {"fields": ("public_id", "organization", "name", "description", "kind", "endpoint", "visibility")}),
        ("State", {"fields": (
            "current_state", "trouble", "switched_off", "troubles", ("held_until", "held_reason"),
            ("health", "health_repeats", "checked_at"), "auth_failures", "verified_at", "gone_at",
        )}),
        ("Capabilities", {"fields": (
            "version", ("max_batch_size", "supports_dimensions", "supports_explanations", "supports_async"),
            ("avg_latency_ms", "domains"),
        )}),
        ("Calls", {"fields": (
            (figure("rate_per_minute", number, "completions per minute"), "max_concurrency"),
            (figure("timeout_ms", number, "timeout (ms)"), figure("batch_timeout_ms", number, "batch timeout (ms)")),
            "pins", ("redact_reasoning", "redact_dimensions"),
        )}),
        ("More", {"fields": ("its_lists", "created_by", "created_at", "updated_at", "deleted_at")}),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Grader]:
        return super().get_queryset(request).select_related(*self.related)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("graders.change_grader")

    @admin.display(description="state", ordering="status")
    def current_state(self, grader: Grader) -> SafeString:
        if grader.deleted_at is not None:
            return badge("deleted")
        if grader.status == GraderStatus.INACTIVE and grader.verified_at is None:
            return badge("pending", "inactive, not verified")
        return badge("inactive", "switched off") if grader.switched_off else badge(grader.status)

    @admin.display(description="trouble")
    def trouble(self, grader: Grader) -> SafeString:
        badges = [("warn", name) for name in grader.troubles]
        badges += [("held", f"paused: {labels.label(grader.held_reason)}")] if grader.held_until else []
        badges += [("failed", "gone")] if grader.gone_at else []
        return format_html_join(" ", "{}", ((badge(tone, text),) for tone, text in badges)) or badge("")

    @admin.display(description="endpoint", ordering="endpoint")
    def endpoint_brief(self, grader: Grader) -> str:
        return brief(grader.endpoint, 48) or "–"

    @admin.display(description="lists")
    def its_lists(self, grader: Grader) -> SafeString:
        public_id = grader.public_id
        links = (
            (list_url(GraderCheck, grader=public_id), "checks"),
            (list_url(GraderStatusChange, grader=public_id), "status changes"),
            (list_url(GraderStatistic, grader=public_id), "statistics"),
            (list_url(GraderSecret, grader=public_id), "secrets"),
        )  # fmt: skip
        return format_html_join(" · ", "{}", ((anchor(url, text),) for url, text in links))


def _troubled(graders: QuerySet[Grader]) -> QuerySet[Grader]:
    needs_attention = Q(status=GraderStatus.DEGRADED) | Q(held_until__gt=timezone.now()) | Q(gone_at__isnull=False)
    return graders.filter(needs_attention, deleted_at=None)


figures.register("Graders that need attention", Grader, lambda: _troubled(Grader.objects.all()), "attention=yes")
