"""Admin pages of graders. Registering and changing is the API's; here graders are seen, asked, switched off and on."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record, plain
from autotune.core.errors import AutotuneError
from graders import health, registry
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


class GraderPart(Record, admin.ModelAdmin):
    """Rows that belong to a grader, the newest first."""

    list_select_related = ("grader",)
    search_fields: ClassVar[tuple[str, ...]] = ("grader__name",)
    show_full_result_count = False
    ordering: ClassVar[tuple[str, ...]] = ("-id",)


def _switch(model_admin: admin.ModelAdmin, request: HttpRequest, graders: QuerySet[Grader], *, on: bool) -> None:
    for grader in graders:
        try:
            registry.switch(grader.pk, on=on)
        except AutotuneError as exc:
            model_admin.message_user(request, f"{grader}: {exc.detail}", messages.ERROR)


@admin.action(description="Switch the selected graders off", permissions=["switch"])
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    _switch(model_admin, request, queryset, on=False)


@admin.action(description="Switch the selected graders on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    _switch(model_admin, request, queryset, on=True)


@admin.action(description="Ask the selected graders' /health now", permissions=["switch"])
def check_health(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    asked = health.look(list(queryset))
    model_admin.message_user(request, f"{asked} graders were asked; their checks tell what they said.")


@admin.register(Grader)
class GraderAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    kind = "grader"
    list_display = (
        "name", "public_id", "organization", "status", "troubles", "held_until", "visibility", "version", "endpoint",
        "verified_at",
    )  # fmt: skip
    list_filter = ("status", "kind", "visibility", ("deleted_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("organization", "version")
    search_fields = ("name", "description", "organization__name", "endpoint")
    show_full_result_count = False
    ordering = ("-created_at",)
    actions = (switch_off, switch_on, check_health)
    fields = (
        "public_id", "organization", "name", "description", "kind", "endpoint", "status", "visibility", "version",
        ("max_batch_size", "supports_dimensions", "supports_explanations", "supports_async"),
        ("avg_latency_ms", "domains"), ("rate_per_minute", "max_concurrency", "timeout_ms", "batch_timeout_ms"),
        "pins", ("redact_reasoning", "redact_dimensions"), ("troubles", "auth_failures"), ("held_until", "held_reason"),
        ("health", "health_repeats", "checked_at"),
        "switched_off", "verified_at", "gone_at", "created_by", "created_at", "updated_at", "deleted_at",
    )  # fmt: skip

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("graders.change_grader")


@admin.register(GraderSecret)
class GraderSecretAdmin(PublicIdSearch, GraderPart):
    """Which secrets there are; never what they say, nor their ciphertext."""

    kind = "gkey"
    list_display = ("key_id", "grader", "current", "confirmed", "valid_until", "created_at")
    list_filter = ("current", "confirmed", "created_at")
    fields = ("key_id", "grader", "current", "confirmed", "valid_until", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[GraderSecret]:
        return super().get_queryset(request).defer("secret")


@admin.register(GraderVersion)
class GraderVersionAdmin(PublicIdSearch, GraderPart):
    kind = "graderv"
    list_display = ("label", "public_id", "grader", "first_seen_at")
    list_filter = ("first_seen_at",)
    search_fields = ("label", "grader__name")
    fields = ("public_id", "grader", "label", "digest", "first_seen_at")


@admin.register(GraderCheck)
class GraderCheckAdmin(GraderPart):
    list_display = ("grader", "name", "passed", "latency_ms", "clock_skew_s", "at")
    list_filter = ("passed", "name", "at")
    fields = ("grader", "name", "passed", "said", "latency_ms", "clock_skew_s", "at")

    @admin.display(description="detail")
    def said(self, row: GraderCheck) -> str:
        return plain(row, "detail")


@admin.register(GraderStatusChange)
class GraderStatusChangeAdmin(GraderPart):
    list_display = ("grader", "previous", "current", "at")
    list_filter = ("current", "previous", "at")
    search_fields = ("grader__name",)
    fields = ("grader", "previous", "current", "said", "at")

    @admin.display(description="reason")
    def said(self, row: GraderStatusChange) -> str:
        return plain(row, "reason")


@admin.register(GraderStatistic)
class GraderStatisticAdmin(GraderPart):
    list_display = ("grader", "start", "scored", "mean", "errors")
    list_filter = ("start",)
    ordering = ("-start", "-id")
    fields = ("grader", "version_id", "start", "scored", "mean", "histogram", "latency_sum_ms", "latencies", "errors")

    @admin.display(description="mean score")
    def mean(self, row: GraderStatistic) -> float | None:
        return row.value_sum / row.scored if row.scored else None


@admin.register(Tally)
class TallyAdmin(Record, admin.ModelAdmin):
    list_display = ("grader", "at", "scored", "errors")
    list_filter = ("at",)
    search_fields = ("=grader_id",)
    show_full_result_count = False
    ordering = ("-id",)
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


@admin.register(GraderGuard)
class GraderGuardAdmin(Record, admin.ModelAdmin):
    """What workers share about calling a grader, while Redis does not keep it."""

    list_display = ("grader", "changed_at")
    list_filter = ("changed_at",)
    list_select_related = ("grader",)
    search_fields = ("grader__name",)
    ordering = ("-changed_at",)
    fields = ("grader", "state", "changed_at")
