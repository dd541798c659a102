"""Admin pages of graders' statistics, and of the tallies that a job folds into them."""

from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import linked, moment
from autotune.core.admin.lists import LargeTableMixin
from autotune.core.pages.formats import score
from graders.admin.parts import GraderFilter, GraderPart
from graders.models import (
    GraderHour,
    GraderStatistic,
    Tally,
)


@admin.register(GraderStatistic, GraderHour)
class GraderStatisticAdmin(GraderPart):
    list_display = ("start", linked("grader"), "scored", "mean", "error_count")
    list_filter = (GraderFilter, "start")
    ordering = ("-start", "-id")
    fields = ("grader", "version_id", "start", "scored", "mean", "histogram", "latency_sum_ms", "latencies", "errors")

    @admin.display(description="mean score")
    def mean(self, row: GraderStatistic | GraderHour) -> str:
        return score(row.value_sum / row.scored if row.scored else None)

    @admin.display(description="errors")
    def error_count(self, row: GraderStatistic | GraderHour) -> str:
        return _errors(row.errors)


@admin.register(Tally)
class TallyAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    finds = MappingProxyType({"grader": "grader_id"})
    list_display = ("grader", "scored", "error_count", moment("at", "when", order=""))
    list_filter = ("at",)
    search_fields = ("=grader_id",)
    search_help_text = "A grader's id (grader_…). You cannot search tallies by name"
    fields = ("grader", "version_id", "at", "scored", "value_sum", "histogram", "latency_sum_ms", "latencies", "errors")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by the grader's id, because a tally has no relation to its grader."""
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


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in sorted(errors.items())) or "–"
