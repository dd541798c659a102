"""Admin pages of graders. Registering and changing is the API's; here graders are seen, asked, switched off and on."""

from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import admin_figures, ids
from autotune.core.admin import OnPages, PublicIdSearch, Record, plain
from autotune.core.admin_actions import CALLED_AT_ONCE, confirmed, each
from autotune.core.admin_cells import anchor, badge, figure, flag, linked, list_url, moment, state
from autotune.core.admin_inlines import Newest
from autotune.core.admin_lists import Growing, Made, named
from autotune.core.errors import Conflict
from autotune.core.templatetags.ui import brief, duration, score
from graders import health, registry, verification
from graders.models import (
    Grader,
    GraderCheck,
    GraderGuard,
    GraderSecret,
    GraderStatistic,
    GraderStatusChange,
    GraderVersion,
    Tally,
)
from graders.states import GraderStatus

OrganizationFilter = named(Organization, "org")
GraderFilter = named(Grader, "grader")


class GraderPart(Growing, PublicIdSearch, Record, admin.ModelAdmin):
    """Rows that belong to a grader, the newest first."""

    finds = MappingProxyType({"grader": "grader_id", "org": "grader__organization_id"})
    list_select_related = ("grader",)
    search_fields: ClassVar[tuple[str, ...]] = ("grader__name",)
    search_help_text = "A part of a grader's name, or an id (grader_… or org_…)"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("grader")


@admin.action(description="Switch the selected graders off", permissions=["switch"])
@confirmed(
    "Switch these graders off?",
    warning="Nothing is scored by them until they are switched on again. Runs that wait for them stay waiting.",
    button="Switch them off",
)
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, lambda grader: registry.switch(grader.pk, on=False), "switched off")


@admin.action(description="Switch the selected graders on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, lambda grader: registry.switch(grader.pk, on=True), "switched on")


@admin.action(description="Ask the selected graders' /health now", permissions=["switch"])
def check_health(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    asked = health.look(list(queryset[: health.GROUP]))
    model_admin.message_user(request, f"{asked} graders were asked; their checks tell what they said.")


@admin.action(description="Verify the selected graders", permissions=["switch"])
def verify(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, _verify, "verified", most=CALLED_AT_ONCE)


def _verify(grader: Grader) -> None:
    """raises  Conflict with the checks that failed, and as verification.verify"""
    probe = verification.verify(grader)
    if not probe.verified:
        failed = "; ".join(f"{check.name}: {brief(check.detail, 120)}" for check in probe.checks if not check.passed)
        raise Conflict(f"Not verified. {failed}", code="not_verified")


class VersionsInline(Newest):
    model = GraderVersion
    verbose_name_plural = "newest versions"
    fields = ("public_id", "first_seen_at")


class ChecksInline(Newest):
    model = GraderCheck
    verbose_name_plural = "newest checks"
    fields = ("result", "said", figure("latency_ms", duration, "latency"), "clock_skew_s", "at")
    related = ("grader",)

    @admin.display(description="result")
    def result(self, row: GraderCheck) -> SafeString:
        return _result(row)

    @admin.display(description="detail")
    def said(self, row: GraderCheck) -> str:
        return brief(plain(row, "detail"), 160)


class StatusChangesInline(Newest):
    model = GraderStatusChange
    verbose_name_plural = "newest changes of status"
    fields = (state("current", "to"), "said", "at")
    related = ("grader",)

    @admin.display(description="reason")
    def said(self, row: GraderStatusChange) -> str:
        return brief(plain(row, "reason"), 160)


class TroubleFilter(admin.SimpleListFilter):
    """Graders that an operator looks at first."""

    title, parameter_name = "needs attention", "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "degraded, held or gone"), ("unverified", "never verified")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "yes":
                return _troubled(queryset)
            case "unverified":
                return queryset.filter(verified_at=None, deleted_at=None)
        return queryset


@admin.register(Grader)
class GraderAdmin(PublicIdSearch, OnPages, Record, admin.ModelAdmin):
    kind = "grader"
    finds = MappingProxyType({"org": "organization_id", "user": "created_by_id", "graderv": "versions__pk"})
    page_name = "grader"
    related = ("organization", "version", "created_by")
    list_display = (
        "name", "standing", "trouble", linked("organization", order="organization__name"), "visibility", "version",
        "endpoint_brief", moment("verified_at"), moment("checked_at"), "public_id",
    )  # fmt: skip
    list_filter = (
        "status", TroubleFilter, OrganizationFilter, "kind", "visibility", ("deleted_at", admin.EmptyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("organization", "version")
    search_fields = ("name", "description", "organization__name", "endpoint")
    search_help_text = "A part of a name, description, organization or endpoint, or an id (grader_…, org_…, user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-created_at",)
    actions = (verify, check_health, switch_off, switch_on)
    inlines = (ChecksInline, StatusChangesInline, VersionsInline)
    fieldsets = (
        (None, {"fields": ("public_id", "organization", "name", "description", "kind", "endpoint", "visibility")}),
        ("State", {"fields": (
            "standing", "trouble", "switched_off", "troubles", ("held_until", "held_reason"),
            ("health", "health_repeats", "checked_at"), "auth_failures", "verified_at", "gone_at",
        )}),
        ("What it can do", {"fields": (
            "version", ("max_batch_size", "supports_dimensions", "supports_explanations", "supports_async"),
            ("avg_latency_ms", "domains"),
        )}),
        ("How it is called", {"fields": (
            ("rate_per_minute", "max_concurrency"), ("timeout_ms", "batch_timeout_ms"), "pins",
            ("redact_reasoning", "redact_dimensions"),
        )}),
        ("More", {"fields": ("its_lists", "created_by", "created_at", "updated_at", "deleted_at")}),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Grader]:
        return super().get_queryset(request).select_related(*self.related)

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("graders.change_grader")

    @admin.display(description="state", ordering="status")
    def standing(self, grader: Grader) -> SafeString:
        if grader.deleted_at is not None:
            return badge("deleted")
        if grader.status == GraderStatus.INACTIVE and grader.verified_at is None:
            return badge("pending", "inactive, not verified")
        return badge("inactive", "switched off") if grader.switched_off else badge(grader.status)

    @admin.display(description="trouble")
    def trouble(self, grader: Grader) -> SafeString:
        told = [("warn", name) for name in grader.troubles]
        told += [("held", f"held: {grader.held_reason.replace('_', ' ')}")] if grader.held_until else []
        told += [("failed", "gone")] if grader.gone_at else []
        return format_html_join(" ", "{}", ((badge(tone, text),) for tone, text in told)) or badge("")

    @admin.display(description="endpoint", ordering="endpoint")
    def endpoint_brief(self, grader: Grader) -> str:
        return brief(grader.endpoint, 48) or "–"

    @admin.display(description="lists")
    def its_lists(self, grader: Grader) -> SafeString:
        of = grader.public_id
        links = (
            (list_url(GraderCheck, grader=of), "checks"),
            (list_url(GraderStatusChange, grader=of), "changes of status"),
            (list_url(GraderStatistic, grader=of), "statistics"), (list_url(GraderSecret, grader=of), "secrets"),
        )  # fmt: skip
        return format_html_join(" · ", "{}", ((anchor(url, text),) for url, text in links))


@admin.register(GraderSecret)
class GraderSecretAdmin(GraderPart):
    """Which secrets there are; never what they say, nor their ciphertext."""

    kind = "gkey"
    list_display = (
        "key_id", linked("grader"), flag("current", "current", "previous", "use", tone="good"),
        flag("confirmed", "confirmed", "not confirmed", "known to the grader", tone="good"),
        moment("valid_until", order=""), moment("created_at", order=""),
    )  # fmt: skip
    list_filter = ("current", "confirmed", GraderFilter, Made)
    fields = ("key_id", "grader", "current", "confirmed", "valid_until", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[GraderSecret]:
        return super().get_queryset(request).defer("secret")


@admin.register(GraderVersion)
class GraderVersionAdmin(GraderPart):
    kind = "graderv"
    list_display = ("label", linked("grader"), "public_id", moment("first_seen_at", "first seen", order=""))
    list_filter = (GraderFilter, Made)
    search_fields = ("label", "grader__name")
    search_help_text = "A part of a version or of a grader's name, or an id (graderv_…, grader_… or org_…)"
    fields = ("public_id", "grader", "label", "digest", "first_seen_at")


@admin.register(GraderCheck)
class GraderCheckAdmin(GraderPart):
    list_display = ("name", "result", linked("grader"), "latency", "clock_skew_s", moment("at", "when", order=""))
    list_filter = ("passed", "name", GraderFilter, "at")
    fields = ("grader", "name", "result", "said", "latency_ms", "clock_skew_s", "at")

    @admin.display(description="result")
    def result(self, row: GraderCheck) -> SafeString:
        return _result(row)

    @admin.display(description="latency")
    def latency(self, row: GraderCheck) -> str:
        return duration(row.latency_ms)

    @admin.display(description="detail")
    def said(self, row: GraderCheck) -> str:
        return plain(row, "detail")


@admin.register(GraderStatusChange)
class GraderStatusChangeAdmin(GraderPart):
    list_display = (
        "__str__",
        linked("grader"),
        state("previous", "from", order=""),
        state("current", "to", order=""),
        moment("at", "when", order=""),
    )
    list_filter = ("current", "previous", GraderFilter, "at")
    fields = ("grader", state("previous", "from"), state("current", "to"), "said", "at")

    @admin.display(description="reason")
    def said(self, row: GraderStatusChange) -> str:
        return plain(row, "reason")


@admin.register(GraderStatistic)
class GraderStatisticAdmin(GraderPart):
    list_display = ("start", linked("grader"), "scored", "mean", "error_count")
    list_filter = (GraderFilter, "start")
    ordering = ("-start", "-id")
    fields = ("grader", "version_id", "start", "scored", "mean", "histogram", "latency_sum_ms", "latencies", "errors")

    @admin.display(description="mean score")
    def mean(self, row: GraderStatistic) -> str:
        return score(row.value_sum / row.scored if row.scored else None)

    @admin.display(description="errors")
    def error_count(self, row: GraderStatistic) -> str:
        return _errors(row.errors)


@admin.register(Tally)
class TallyAdmin(Growing, PublicIdSearch, Record, admin.ModelAdmin):
    finds = MappingProxyType({"grader": "grader_id"})
    list_display = ("grader", "scored", "error_count", moment("at", "when", order=""))
    list_filter = ("at",)
    search_fields = ("=grader_id",)
    search_help_text = "A grader's id (grader_…): a tally knows its grader by id alone"
    fields = ("grader", "version_id", "at", "scored", "value_sum", "histogram", "latency_sum_ms", "latencies", "errors")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """A tally knows its grader by id alone."""
        try:
            return queryset.filter(grader_id=ids.decode("grader", search_term.strip())), False
        except ValueError:
            return queryset.none() if search_term.strip() else queryset, False

    @admin.display(ordering="grader_id")
    def grader(self, row: Tally) -> str:
        return ids.encode("grader", row.grader_id)

    @admin.display(description="errors")
    def error_count(self, row: Tally) -> str:
        return _errors(row.errors)


@admin.register(GraderGuard)
class GraderGuardAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """What workers share about calling a grader, while Redis does not keep it."""

    finds = MappingProxyType({"grader": "pk"})
    list_display = ("__str__", linked("grader", order="grader__name"), moment("changed_at"))
    list_filter = ("changed_at",)
    list_select_related = ("grader",)
    search_fields = ("grader__name",)
    search_help_text = "A part of a grader's name, or its id (grader_…)"
    show_full_result_count = False
    ordering = ("-changed_at",)
    fields = ("grader", "state_shown", "changed_at")

    @admin.display(description="state")
    def state_shown(self, row: GraderGuard) -> SafeString:
        return format_html("<pre>{}</pre>", plain(row, "state"))


def _result(row: GraderCheck) -> SafeString:
    return badge("passed") if row.passed else badge("failed")


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in sorted(errors.items())) or "–"


def _troubled(graders: QuerySet[Grader]) -> QuerySet[Grader]:
    wanted = Q(status=GraderStatus.DEGRADED) | Q(held_until__gt=timezone.now()) | Q(gone_at__isnull=False)
    return graders.filter(wanted, deleted_at=None)


admin_figures.tell("Graders that need attention", Grader, lambda: _troubled(Grader.objects.all()), "attention=yes")
