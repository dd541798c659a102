"""Admin pages of runs, scores and rewards: records, shown and not changed. Runs can be retried and cancelled."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record, TextForSuperusers, plain
from scores import callback_admin as callback_admin  # registers its pages
from scores import cancelling, failure_codes, privacy, retrying, steps
from scores import retention_admin as retention_admin  # registers its pages
from scores import review_admin as review_admin  # registers its pages
from scores.live import admin as admin_of_live  # noqa: F401 - registers its pages
from scores.models import Pulse, Reward, Score, WorkflowRun
from scores.states import RunStatus


class Of(PublicIdSearch, Record):
    """Mixin: a record of a completion, with the names of its task and grader in one query."""

    related: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found = super().get_queryset(request).select_related(*self.related)  # type: ignore[misc]
        return found.defer("task__metadata")

    @admin.display(description="completion")
    def completion_public_id(self, row: Any) -> str:
        return ids.encode("comp", row.completion_id)


class CodeFilter(admin.SimpleListFilter):
    """By a code of the registry: a look for the codes that occur would read the whole table."""

    title = "error code"
    parameter_name = "error_code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, code) for code in sorted(failure_codes.CODES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        code = self.value()
        return queryset if code is None else queryset.filter(error_code=code)


class FaultFilter(admin.SimpleListFilter):
    """Failed runs by whose affair their code is."""

    title = "fault"
    parameter_name = "fault"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("grader", "grader"), ("caller", "caller"), ("platform", "platform")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "grader" | "caller" as fault:
                return queryset.filter(status=RunStatus.FAILED, error_code__in=failure_codes.of(fault))
            case "platform":
                others = (*failure_codes.of("grader"), *failure_codes.of("caller"))
                return queryset.filter(status=RunStatus.FAILED).exclude(error_code__in=others)
        return queryset


@admin.action(description="Retry the selected runs that failed", permissions=["steer"])
def retry_runs(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
    done = retrying.retry_all(queryset)
    model_admin.message_user(request, f"{done.retried} runs are due again.")
    for code, count in sorted(done.skipped.items()):
        model_admin.message_user(request, f"{count} were left: {retrying.REFUSALS[code]}", messages.WARNING)
    if done.more:
        model_admin.message_user(request, "There are more: do it again.", messages.WARNING)


@admin.action(description="Cancel the selected runs that are unfinished", permissions=["steer"])
def cancel_runs(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
    ended = cancelling.cancel_all(list(queryset.values_list("pk", flat=True)))
    model_admin.message_user(request, f"{ended} runs were cancelled.")


@admin.register(WorkflowRun)
class WorkflowRunAdmin(Of, admin.ModelAdmin):
    kind = "run"
    actions = (retry_runs, cancel_runs)
    related = ("organization", "task", "grader")
    list_display = (
        "public_id", "status", "error_code", "grader", "attempt", "failures", "wake_at", "completion_public_id",
        "task", "created_at", "completed_at",
    )  # fmt: skip
    list_filter = ("status", FaultFilter, CodeFilter, "waits_for", "priority", "created_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name", "=error_code")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "public_id", "organization", "completion_public_id", "task", "grader", "panel_size", "generation", "status",
        "waits_for", "priority", "attempt", "failures", "error_code", "message", "advice", "error_repeats",
        "leased_until", "wake_at", "deadline_at", "created_at", "started_at", "completed_at", "timeline",
    )  # fmt: skip

    def has_steer_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_workflowrun")

    @admin.display(description="error message")
    def message(self, run: WorkflowRun) -> str:
        return plain(run, "error_message")

    @admin.display(description="what must change")
    def advice(self, run: WorkflowRun) -> str:
        code = run.error_code
        return f"{failure_codes.advice(code)} ({failure_codes.fault(code)})" if code else "–"

    @admin.display(description="timeline")
    def timeline(self, run: WorkflowRun) -> str:
        return "\n".join(_line(step) for step in steps.of(run))


def _line(step: steps.Step) -> str:
    """One step on one line: when, what, and what came of it."""
    begun, ended, until = (
        f"{moment:%Y-%m-%d %H:%M:%S.%f}"[:-3] if moment else ""
        for moment in (step.started_at, step.ended_at, step.wake_at)
    )
    facts = (
        f"{begun} – {ended}".strip(" –") if begun != ended else begun,
        f"{step.step} (attempt {step.attempt})" if step.attempt else step.step,
        step.outcome or "",
        f"until {until}" if until else "",
    )
    return ", ".join(fact for fact in facts if fact)


@admin.register(Score)
class ScoreAdmin(Of, TextForSuperusers, admin.ModelAdmin):
    kind = "score"
    related = ("organization", "task", "grader", "grader_version")
    list_display = (
        "public_id", "completion_public_id", "task", "grader", "grader_version", "value", "confidence", "shadow",
        "superseded", "created_at", "deleted_at",
    )  # fmt: skip
    list_filter = ("shadow", "superseded", "created_at", ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    show_full_result_count = False
    ordering = ("-id",)
    facts = (
        "public_id", "organization", "completion_public_id", "task", "grader", "grader_version", "shadow",
        "superseded", "value", "raw_value", "confidence", "dimensions_shown", "created_at", "deleted_at",
    )  # fmt: skip
    texts = ("reasoning",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        return super().get_queryset(request).defer("reasoning", "task__metadata")

    @admin.display(description="reasoning")
    def reasoning_text(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_reasoning else plain(score, "reasoning")

    @admin.display(description="dimensions")
    def dimensions_shown(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_dimensions else plain(score, "dimensions")


@admin.register(Reward)
class RewardAdmin(Of, admin.ModelAdmin):
    kind = "comp"
    related = ("organization", "task")
    list_display = (
        "completion_public_id", "task", "value", "confidence", "aggregation", "used", "failed", "error_code",
        "scored_at",
    )  # fmt: skip
    list_filter = ("aggregation", CodeFilter, "scored_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "=error_code")
    show_full_result_count = False
    ordering = ("-completion_id",)
    fields = (
        "completion_public_id", "organization", "task", "value", "confidence", "aggregation", "used", "failed",
        "error_code", "scored_at",
    )  # fmt: skip


@admin.register(Pulse)
class PulseAdmin(Record, admin.ModelAdmin):
    """When a periodic work last came to its end."""

    list_display = ("name", "at")
    list_filter = ("at",)
    search_fields = ("name",)
    fields = ("name", "at")
