"""The admin page of runs: their state and errors. Runs can be retried and cancelled."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.admin.actions import confirmed, pks, report
from autotune.core.admin.base import ProductPageMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, linked, moment, state
from autotune.core.admin.lists import CreatedWithin
from autotune.core.pages import formats
from scores.admin.parts import FILTERS, CodeFilter, CompletionRecordMixin, GraderFilter
from scores.models import WorkflowRun
from scores.results import failure_codes
from scores.states import RunStatus
from scores.workflow_runs import cancelling, retrying, steps

UNREAD = ("score__reasoning", "score__details", "score__dimensions")


class FaultFilter(admin.SimpleListFilter):
    """Filter failed runs by who is responsible for their error code."""

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


@admin.action(description="Retry the selected failed workflow runs", permissions=["steer"])
def retry_runs(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
    not_failed = queryset.exclude(status=RunStatus.FAILED).order_by().values("pk")[: retrying.MOST].count()
    done = retrying.retry_all(queryset)
    refused = {retrying.REFUSALS[code]: count for code, count in sorted(done.skipped.items())}
    if not_failed:
        refused[retrying.REFUSALS["not_failed"]] = not_failed
    parts = [f"{done.retried} retried", *(f"{count} refused: {why}" for why, count in refused.items())]
    level = messages.SUCCESS if not refused else messages.WARNING if done.retried else messages.ERROR
    model_admin.message_user(request, "; ".join(parts), level)
    if done.more:
        model_admin.message_user(request, "There are more workflow runs. Start the action again.", messages.WARNING)


@admin.action(description="Cancel the selected unfinished workflow runs", permissions=["steer"])
@confirmed(
    "Cancel these workflow runs?",
    warning="Unfinished workflow runs fail with “cancelled”, and answers that arrive later are discarded. "
    "Those that have ended do not change.",
    button="Cancel the workflow runs",
)
def cancel_runs(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
    run_ids = pks(queryset, retrying.MOST)
    ended = cancelling.cancel_all(run_ids)
    report(model_admin, request, ended, "cancelled", {})
    if len(run_ids) > ended:
        model_admin.message_user(request, f"{len(run_ids) - ended} had already ended.", messages.WARNING)
    if len(run_ids) == retrying.MOST:
        model_admin.message_user(request, "There may be more workflow runs. Start the action again.", messages.WARNING)


@admin.register(WorkflowRun)
class WorkflowRunAdmin(ProductPageMixin, CompletionRecordMixin, admin.ModelAdmin):
    kind = "run"
    page_name = "workflow_run"
    search_help_text = CompletionRecordMixin.search_help_text % "run_…, comp_…, task_…, grader_… or org_…"
    actions = (retry_runs, cancel_runs)
    related = ("organization", "task", "grader")
    list_display = (
        "public_id", state(order=""), "code", linked("grader"), linked("task"), "tries",
        moment("wake_at", "next", order=""),
        "completion_short", moment("created_at", "made", order=""), "took",
    )  # fmt: skip
    list_filter = (
        "status",
        FaultFilter,
        CodeFilter,
        *FILTERS,
        GraderFilter,
        CreatedWithin,
        "waits_for",
        "purpose",
        "priority",
    )
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name", "=error_code")
    fieldsets = (
        (None, {"fields": (
            "public_id", state(order=""), "organization", "completion_link", "task", "grader", "score_link",
        )}),
        ("State", {"fields": (
            "waits_for", ("attempt", "failures"), "priority", "purpose", ("panel_size", "generation"),
        )}),
        ("What went wrong", {"fields": ("error_code", "message", "advice", "error_repeats")}),
        ("Times", {"fields": (
            "created_at", "started_at", "completed_at", "took", "leased_until", "wake_at", "deadline_at",
        )}),
        ("Timeline", {"fields": ("timeline",)}),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkflowRun]:
        return super().get_queryset(request).select_related(*self.related, "score").defer(*UNREAD, "task__metadata")

    @admin.display(description="error code")
    def code(self, run: WorkflowRun) -> SafeString:
        return badge(failure_codes.fault(run.error_code), run.error_code) if run.error_code else badge("")

    @admin.display(description="attempts")
    def tries(self, run: WorkflowRun) -> str:
        return f"{run.attempt}, {run.failures} failed" if run.failures else str(run.attempt)

    @admin.display(description="duration")
    def took(self, run: WorkflowRun) -> str:
        if run.completed_at is None:
            return "–"
        return formats.duration((run.completed_at - run.created_at).total_seconds() * 1000)

    @admin.display(description="score")
    def score_link(self, run: WorkflowRun) -> SafeString:
        score = getattr(run, "score", None)
        if score is None:
            return badge("")
        return anchor(change_url(score), f"{formats.score(score.value)} ({score.public_id})")

    def has_steer_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_workflowrun")

    @admin.display(description="error message")
    def message(self, run: WorkflowRun) -> str:
        return plain(run, "error_message")

    @admin.display(description="advice")
    def advice(self, run: WorkflowRun) -> str:
        code = run.error_code
        return f"{failure_codes.advice(code)} ({failure_codes.fault(code)})" if code else "–"

    @admin.display(description="timeline")
    def timeline(self, run: WorkflowRun) -> SafeString:
        return format_html("<pre>{}</pre>", "\n".join(_line(step) for step in steps.of(run)))


def _line(step: steps.RunStep) -> str:
    """One step on one line: when it happened, what it was, and its result."""
    started, ended, until = (
        f"{moment:%Y-%m-%d %H:%M:%S.%f}"[:-3] if moment else ""
        for moment in (step.started_at, step.ended_at, step.wake_at)
    )
    facts = (
        f"{started} – {ended}".strip(" –") if started != ended else started,
        f"{step.step} (attempt {step.attempt})" if step.attempt else step.step,
        step.outcome or "",
        f"until {until}" if until else "",
    )
    return ", ".join(fact for fact in facts if fact)
