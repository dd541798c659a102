"""Admin pages of the counters of scores and rewards, their tallies, and the tasks whose counters are not built yet."""

from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import moment
from autotune.core.admin.lists import CappedPaginator, LargeTableMixin
from autotune.core.fixedpoint import LIMB, UNITS
from autotune.core.pages.formats import score
from scores.counters.folding import PROGRESS, ScoreCountSums
from scores.models import ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask

SERIES = ("organization_id", "model_id", "grader_version_id", "source", "held_out", "standing")


class TaskRowsAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """Rows that hold only the id of their task."""

    finds = MappingProxyType({"task": "task_id"})
    search_fields = ("=task_id",)
    search_help_text = "A task's id (task_…)"
    show_full_result_count = False
    paginator: ClassVar[Any] = CappedPaginator

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by a task's public id."""
        try:
            return queryset.filter(task_id=ids.decode("task", search_term.strip())), False
        except ValueError:
            return queryset.none() if search_term.strip() else queryset, False

    @admin.display(ordering="task_id")
    def task(self, row: Any) -> str:
        return ids.encode("task", row.task_id)


class HasFailures(admin.SimpleListFilter):
    """A filter for tasks with, or without, failed completions."""

    title = "failed completions"
    parameter_name = "failures"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("some", "some"), ("none", "none")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Model]:
        if self.value() == "some":
            return queryset.filter(unrewarded__gt=0)
        return queryset.filter(unrewarded__lte=0) if self.value() == "none" else queryset


@admin.register(ScoreCount)
class ScoreCountAdmin(TaskRowsAdmin):
    list_display = ("task", "model_id", "span", "start", "standing", "number", "mean")
    list_filter = ("span", "standing", "source")
    ordering = ("-id",)
    fields = ("task_id", *SERIES, "span", "start", "number", "mean", "bins")
    readonly_fields = ("mean",)

    @admin.display(description="mean score")
    def mean(self, row: ScoreCount) -> str:
        return score(ScoreCountSums.of(row).moments.mean)


@admin.register(ScoreTally)
class ScoreTallyAdmin(LargeTableMixin, TaskRowsAdmin):
    list_display = ("task", "model_id", "standing", "sign", moment("hour", "hour", order=""))
    list_filter = ("standing", "source")
    fields = ("task_id", *SERIES, "hour", "sign", "units")


class ProgressAdmin(TaskRowsAdmin):
    list_display = ("task", "completions", "rewarded", "unrewarded", "mean")
    list_filter = (HasFailures,)
    fields = ("task_id", *PROGRESS)

    @admin.display(description="mean reward")
    def mean(self, row: TaskCount | TaskTally) -> str:
        total = row.reward_high * LIMB + row.reward_low
        return score(total / (row.rewarded * UNITS) if row.rewarded > 0 else None)


@admin.register(TaskCount)
class TaskCountAdmin(ProgressAdmin):
    ordering = ("task_id",)


@admin.register(TaskTally)
class TaskTallyAdmin(LargeTableMixin, ProgressAdmin):
    pass


@admin.register(UncountedTask)
class UncountedTaskAdmin(TaskRowsAdmin):
    list_display = ("task", moment("since", "since"))
    list_filter = ("since",)
    ordering = ("since", "task_id")
    fields = ("task_id", "since")
