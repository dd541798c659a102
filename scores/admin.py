"""Admin pages of runs, scores and rewards: records, shown and not changed. Runs can be retried and cancelled."""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import admin_figures, ids
from autotune.core.admin import OnPages, PublicIdSearch, Record, TextForSuperusers, plain
from autotune.core.admin_actions import confirmed, pks, tell
from autotune.core.admin_cells import anchor, badge, change_url, figure, linked, moment, page_url, shortened, state
from autotune.core.admin_inlines import Newest
from autotune.core.admin_lists import Growing, Made, named
from autotune.core.templatetags import ui
from graders.models import Grader
from scores import callback_admin as callback_admin  # registers its pages
from scores import cancelling, failure_codes, privacy, retrying, steps
from scores import retention_admin as retention_admin  # registers its pages
from scores import review_admin as review_admin  # registers its pages
from scores.live import admin as admin_of_live  # noqa: F401 - registers its pages
from scores.models import Pulse, Review, Reward, Score, WorkflowRun
from scores.states import RunStatus
from tasks.admin import CompletionAdmin
from tasks.models import Completion, Task

FILTERS = (named(Organization, "org"), named(Task, "task"))
GraderFilter = named(Grader, "grader")
UNREAD = ("score__reasoning", "score__dimensions")
STALE = timedelta(hours=26)  # the slowest of the periodic works is daily
DAY = timedelta(days=1)


class Of(Growing, PublicIdSearch, Record):
    """Mixin: a record of a completion, with the names of its task and grader in one query."""

    finds: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"comp": "completion_id", "task": "task_id", "grader": "grader_id", "org": "organization_id"}
    )
    related: ClassVar[tuple[str, ...]] = ()
    search_help_text: ClassVar[Any] = (
        "A part of a task's or grader's name, exactly an external id or a code, or an id (%s)"
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        found = super().get_queryset(request).select_related(*self.related)  # type: ignore[misc]
        return found.defer("task__metadata")

    @admin.display(description="completion")
    def completion_short(self, row: Any) -> SafeString:
        return shortened(_completion_url(row), ids.encode("comp", row.completion_id))

    @admin.display(description="completion")
    def completion_link(self, row: Any) -> SafeString:
        return anchor(_completion_url(row), ids.encode("comp", row.completion_id))


class CodeFilter(admin.SimpleListFilter):
    """By a code of the registry: a look for the codes that occur would read the whole table."""

    title = "error code"
    template = "admin/filter_closed.html"
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
    not_failed = queryset.exclude(status=RunStatus.FAILED).order_by().values("pk")[: retrying.MOST].count()
    done = retrying.retry_all(queryset)
    refused = {retrying.REFUSALS[code]: count for code, count in sorted(done.skipped.items())}
    if not_failed:
        refused[retrying.REFUSALS["not_failed"]] = not_failed
    parts = [f"{done.retried} retried", *(f"{count} refused: {why}" for why, count in refused.items())]
    level = messages.SUCCESS if not refused else messages.WARNING if done.retried else messages.ERROR
    model_admin.message_user(request, "; ".join(parts), level)
    if done.more:
        model_admin.message_user(request, "There are more: do it again.", messages.WARNING)


@admin.action(description="Cancel the selected runs that are unfinished", permissions=["steer"])
@confirmed(
    "Cancel these runs?",
    warning="Those that are unfinished fail with “cancelled”, and answers that come later are dropped. Runs that have "
    "ended stay as they are.",
    button="Cancel the runs",
)
def cancel_runs(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
    wanted = pks(queryset, retrying.MOST)
    ended = cancelling.cancel_all(wanted)
    tell(model_admin, request, ended, "cancelled", {})
    if len(wanted) > ended:
        model_admin.message_user(request, f"{len(wanted) - ended} had ended already.", messages.WARNING)
    if len(wanted) == retrying.MOST:
        model_admin.message_user(request, "There may be more: do it again.", messages.WARNING)


@admin.register(WorkflowRun)
class WorkflowRunAdmin(OnPages, Of, admin.ModelAdmin):
    kind = "run"
    page_name = "run"
    search_help_text = Of.search_help_text % "run_…, comp_…, task_…, grader_… or org_…"
    actions = (retry_runs, cancel_runs)
    related = ("organization", "task", "grader")
    list_display = (
        "public_id", state(order=""), "code", linked("grader"), linked("task"), "tries",
        moment("wake_at", "next", order=""),
        "completion_short", moment("created_at", "made", order=""), "took",
    )  # fmt: skip
    list_filter = ("status", FaultFilter, CodeFilter, *FILTERS, GraderFilter, Made, "waits_for", "priority")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name", "=error_code")
    fieldsets = (
        (None, {"fields": (
            "public_id", state(order=""), "organization", "completion_link", "task", "grader", "score_link",
        )}),
        ("Where it stands", {"fields": (
            "waits_for", ("attempt", "failures"), "priority", ("panel_size", "generation"),
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

    @admin.display(description="took")
    def took(self, run: WorkflowRun) -> str:
        if run.completed_at is None:
            return "–"
        return ui.duration((run.completed_at - run.created_at).total_seconds() * 1000)

    @admin.display(description="score")
    def score_link(self, run: WorkflowRun) -> SafeString:
        score = getattr(run, "score", None)
        return badge("") if score is None else anchor(change_url(score), f"{ui.score(score.value)} ({score.public_id})")

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
    def timeline(self, run: WorkflowRun) -> SafeString:
        return format_html("<pre>{}</pre>", "\n".join(_line(step) for step in steps.of(run)))


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
class ScoreAdmin(OnPages, Of, TextForSuperusers, admin.ModelAdmin):
    kind = "score"
    page_name = "score"
    finds = MappingProxyType({**Of.finds, "run": "run_id", "graderv": "grader_version_id"})
    search_help_text = Of.search_help_text % "score_…, run_…, comp_…, task_…, grader_…, graderv_… or org_…"
    related = ("organization", "task", "grader", "grader_version")
    list_display = (
        "public_id", figure("value", ui.score), figure("confidence", ui.score), "standing", linked("grader"),
        "grader_version", linked("task"), "completion_short", moment("created_at", "scored", order=""),
    )  # fmt: skip
    list_filter = (
        *FILTERS, GraderFilter, Made, "shadow", "superseded", ("deleted_at", admin.EmptyFieldListFilter),
    )  # fmt: skip
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    groups = (
        (None, ("public_id", "standing", "organization", "completion_link", "task", "run_link")),
        ("What was said", ("value", "raw_value", "confidence", "dimensions_shown")),
        ("By whom", ("grader", "grader_version", "reviewed_by")),
        ("Times", ("created_at", "deleted_at")),
    )
    texts = ("reasoning",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        found = super().get_queryset(request).select_related(*self.related, "reviewed_by")
        return found.defer(*self.unread(request), "task__metadata", "reviewed_by__password")

    @admin.display(description="state")
    def standing(self, score: Score) -> SafeString:
        return _standing(score)

    @admin.display(description="run")
    def run_link(self, score: Score) -> SafeString:
        return anchor(change_url(WorkflowRun(pk=score.run_id)), ids.encode("run", score.run_id))

    @admin.display(description="reasoning")
    def reasoning_text(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_reasoning else plain(score, "reasoning")

    @admin.display(description="dimensions")
    def dimensions_shown(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_dimensions else plain(score, "dimensions")


class RewardMade(Made):
    column = "completion_id"
    title = "completion submitted within"


@admin.register(Reward)
class RewardAdmin(Of, admin.ModelAdmin):
    kind = "comp"
    finds = MappingProxyType({"task": "task_id", "org": "organization_id"})
    search_help_text = Of.search_help_text % "comp_…, task_… or org_…"
    related = ("organization", "task")
    list_display = (
        "completion_public_id", "reward", figure("confidence", ui.score), linked("task"), "aggregation", "used",
        "failed", moment("scored_at", "settled", order=""),
    )  # fmt: skip
    list_filter = (*FILTERS, CodeFilter, "aggregation", RewardMade)
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "=error_code")
    ordering = ("-completion_id",)
    fieldsets = (
        (None, {"fields": ("completion_link", "organization", "task", "scored_at")}),
        ("The number", {"fields": ("reward", "value", "confidence", "aggregation")}),
        ("What went into it", {"fields": (("used", "failed"), "error_code")}),
    )

    def get_view_on_site_url(self, obj: Reward | None = None) -> str | None:
        return None if obj is None else page_url("completion", obj.completion_id)

    @admin.display(description="completion")
    def completion_public_id(self, reward: Reward) -> str:
        return ids.encode("comp", reward.completion_id)

    @admin.display(description="reward")
    def reward(self, reward: Reward) -> SafeString:
        """A missing reward is a failure, and never a zero."""
        return badge("failed", reward.error_code) if reward.value is None else format_html("{}", ui.score(reward.value))


@admin.register(Pulse)
class PulseAdmin(Record, admin.ModelAdmin):
    """When a periodic work last came to its end."""

    list_display = ("name", "beat", moment("at", "last ended"))
    list_filter = ("at",)
    search_fields = ("name",)
    search_help_text = "A part of a work's name"
    show_full_result_count = False
    fields = ("name", "at")

    @admin.display(description="state", ordering="at")
    def beat(self, pulse: Pulse) -> SafeString:
        return badge("stale") if timezone.now() - pulse.at > STALE else badge("healthy", "alive")


class RunsInline(Newest):
    model = WorkflowRun
    verbose_name_plural = "runs"
    fields = (state(), "error_code", linked("grader"), "attempt", "generation", "created_at", "completed_at")
    related = ("grader",)
    hidden = ("error_message", "steps")


class ScoresInline(Newest):
    model = Score
    verbose_name_plural = "scores"
    fields = (
        figure("value", ui.score),
        figure("confidence", ui.score),
        "standing",
        linked("grader"),
        linked("grader_version"),
        "created_at",
    )
    related = ("grader", "grader_version")
    hidden = ("reasoning", "dimensions")

    @admin.display(description="state")
    def standing(self, score: Score) -> SafeString:
        return _standing(score)


class ReviewsInline(Newest):
    model = Review
    verbose_name_plural = "reviews"
    fields = (
        state(),
        figure("value", ui.score, "preliminary score"),
        linked("grader"),
        linked("claimed_by"),
        linked("decided_by"),
        figure("decided_value", ui.score),
        "expires_at",
    )
    related = ("grader", "claimed_by", "decided_by")
    hidden = ("reasoning", "explanation", "dimensions", "claimed_by__password", "decided_by__password")


class RewardInline(Newest):
    model = Reward
    verbose_name_plural = "reward"
    ordering = ("-completion_id",)
    fields = ("number", figure("confidence", ui.score), "aggregation", "used", "failed", "scored_at")

    @admin.display(description="reward")
    def number(self, reward: Reward) -> SafeString:
        return badge("failed", reward.error_code) if reward.value is None else format_html("{}", ui.score(reward.value))


def _completion_url(row: Any) -> str:
    return change_url(Completion(pk=row.completion_id))


def _standing(score: Score) -> SafeString:
    if score.deleted_at is not None:
        return badge("withdrawn", "deleted")
    if score.superseded:
        return badge("superseded")
    return badge("busy", "shadow") if score.shadow else badge("active", "counts")


CompletionAdmin.inlines = (RewardInline, RunsInline, ScoresInline, ReviewsInline)

admin_figures.tell(
    "Runs that failed today", WorkflowRun,
    lambda: WorkflowRun.objects.filter(status=RunStatus.FAILED, completed_at__gte=timezone.now() - DAY),
    "status__exact=failed&made=day", tone="bad",
)  # fmt: skip
admin_figures.tell(
    "Runs waiting to be scored", WorkflowRun, lambda: WorkflowRun.objects.filter(status=RunStatus.PENDING),
    "status__exact=pending", tone="busy",
)  # fmt: skip
admin_figures.tell(
    "Works that stand still", Pulse, lambda: Pulse.objects.filter(at__lt=timezone.now() - STALE), "", tone="bad"
)
