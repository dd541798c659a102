"""The admin page of scores: their values, graders, and whether they count."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.core import ids
from autotune.core.admin.base import ProductPageMixin, SuperuserTextMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, figure, linked, moment
from autotune.core.admin.lists import CreatedWithin
from autotune.core.pages import formats
from scores.admin.parts import FILTERS, CompletionRecordMixin, GraderFilter
from scores.models import Score, WorkflowRun
from scores.results import privacy


@admin.register(Score)
class ScoreAdmin(ProductPageMixin, CompletionRecordMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "score"
    page_name = "score"
    finds = MappingProxyType({**CompletionRecordMixin.finds, "run": "run_id", "graderv": "grader_version_id"})
    search_help_text = (
        CompletionRecordMixin.search_help_text % "score_…, run_…, comp_…, task_…, grader_…, graderv_… or org_…"
    )
    related = ("organization", "task", "grader", "grader_version")
    list_display = (
        "public_id", figure("value", formats.score), figure("confidence", formats.score), "current_state",
        linked("grader"), "grader_version", linked("task"), "completion_short",
        moment("created_at", "scored", order=""),
    )  # fmt: skip
    list_filter = (
        *FILTERS, GraderFilter, CreatedWithin, "purpose", "superseded", ("deleted_at", admin.EmptyFieldListFilter),
    )  # fmt: skip
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    groups = (
        (None, ("public_id", "current_state", "organization", "completion_link", "task", "run_link")),
        ("Verdict", ("value", "raw_value", "scale", "calibrated_value", "confidence", "dimensions_shown")),
        ("By whom", ("grader", "grader_version", "reviewed_by", "reused_from_id")),
        ("Readers", ("source", "held_out")),
        ("Times", ("created_at", "deleted_at")),
    )
    texts = ("reasoning", "details")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        queryset = super().get_queryset(request).select_related(*self.related, "reviewed_by")
        return queryset.defer(*self.unread(request), "task__metadata", "reviewed_by__password")

    @admin.display(description="state")
    def current_state(self, score: Score) -> SafeString:
        return state_of(score)

    @admin.display(description="run")
    def run_link(self, score: Score) -> SafeString:
        return anchor(change_url(WorkflowRun(pk=score.run_id)), ids.encode("run", score.run_id))

    @admin.display(description="reused from")
    def reused_from_id(self, score: Score) -> str:
        return ids.encode("score", score.reused_from) if score.reused_from else "-"

    @admin.display(description="reasoning")
    def reasoning_text(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_reasoning else plain(score, "reasoning")

    @admin.display(description="details")
    def details_text(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_reasoning else plain(score, "details")

    @admin.display(description="scale")
    def scale(self, score: Score) -> str:
        return f"{score.grader_version.scale_min:g} to {score.grader_version.scale_max:g}"

    @admin.display(description="dimensions")
    def dimensions_shown(self, score: Score) -> str:
        return privacy.KEPT if score.grader.redact_dimensions else plain(score, "dimensions")


def state_of(score: Score) -> SafeString:
    if score.deleted_at is not None:
        return badge("withdrawn", "deleted")
    if score.superseded:
        return badge("superseded")
    return badge("active", "counts") if score.is_scoring else badge("busy", score.purpose)
