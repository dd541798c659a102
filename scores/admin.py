"""Admin pages of runs, scores and rewards: records, shown and never changed here."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record, TextForSuperusers, plain
from scores.models import Reward, Score, WorkflowRun


class Of(PublicIdSearch, Record):
    """Mixin: a record of a completion, with the names of its task and grader in one query."""

    related: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found = super().get_queryset(request).select_related(*self.related)  # type: ignore[misc]
        return found.defer("task__metadata")

    @admin.display(description="completion")
    def completion_public_id(self, row: Any) -> str:
        return ids.encode("comp", row.completion_id)


@admin.register(WorkflowRun)
class WorkflowRunAdmin(Of, admin.ModelAdmin):
    kind = "run"
    related = ("organization", "task", "grader")
    list_display = (
        "public_id", "completion_public_id", "task", "grader", "status", "attempt", "failures", "error_code",
        "wake_at", "created_at", "completed_at",
    )  # fmt: skip
    list_filter = ("status", "error_code", "priority", "created_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name", "=error_code")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "public_id", "organization", "completion_public_id", "task", "grader", "panel_size", "status", "priority",
        "attempt", "failures", "error_code", "error_message", "error_repeats", "leased_until", "wake_at", "deadline_at",
        "created_at", "started_at", "completed_at",
    )  # fmt: skip


@admin.register(Score)
class ScoreAdmin(Of, TextForSuperusers, admin.ModelAdmin):
    kind = "score"
    related = ("organization", "task", "grader", "grader_version")
    list_display = (
        "public_id", "completion_public_id", "task", "grader", "grader_version", "value", "confidence", "shadow",
        "created_at",
    )  # fmt: skip
    list_filter = ("shadow", "created_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    show_full_result_count = False
    ordering = ("-id",)
    facts = (
        "public_id", "organization", "completion_public_id", "task", "grader", "grader_version", "shadow", "value",
        "raw_value", "confidence", "dimensions", "created_at",
    )  # fmt: skip
    texts = ("reasoning",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        return super().get_queryset(request).defer("reasoning", "task__metadata")

    @admin.display(description="reasoning")
    def reasoning_text(self, score: Score) -> str:
        return plain(score, "reasoning")


@admin.register(Reward)
class RewardAdmin(Of, admin.ModelAdmin):
    kind = "comp"
    related = ("organization", "task")
    list_display = (
        "completion_public_id", "task", "value", "confidence", "aggregation", "used", "failed", "error_code",
        "scored_at",
    )  # fmt: skip
    list_filter = ("aggregation", "error_code", "scored_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "=error_code")
    show_full_result_count = False
    ordering = ("-completion_id",)
    fields = (
        "completion_public_id", "organization", "task", "value", "confidence", "aggregation", "used", "failed",
        "error_code", "scored_at",
    )  # fmt: skip
