"""The read-only admin page of feedback: who judged what, and whether it is current."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin, SuperuserTextMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, figure, linked, moment
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from autotune.core.pages import formats
from graders.models import Grader
from scores.feedback.models import Feedback
from tasks.models import Completion


@admin.register(Feedback)
class FeedbackAdmin(LargeTableMixin, PublicIdSearchMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "fb"
    finds = MappingProxyType(
        {"comp": "completion_id", "grader": "grader_id", "graderv": "grader_version_id", "org": "organization_id",
         "rev": "review_id", "user": "rater_id"}
    )  # fmt: skip
    related = ("organization", "grader", "grader_version", "rater", "review")
    list_display = (
        "public_id", "current_state", figure("value", formats.score), "source_kind", "anchored", "blind",
        linked("grader"), linked("rater"), moment("created_at", "given", order=""),
    )  # fmt: skip
    list_filter = (
        "source_kind", "anchored", "blind", "adjudicated", ("replaced_at", admin.EmptyFieldListFilter),
        named(Organization, "org"), named(Grader, "grader"), CreatedWithin,
    )  # fmt: skip
    list_select_related = related
    search_fields = ("=completion__external_id", "grader__name")
    search_help_text = (
        "A part of a grader's name, exactly an external id, or an id (fb_…, comp_…, rev_…, grader_…, graderv_…, "
        "user_… or org_…)"
    )
    groups = (
        (None, ("public_id", "current_state", "organization", "completion_link", "review")),
        ("Judgement", ("value", "raw_value", "source_kind", "label_policy", "blind", "anchored", "adjudicated")),
        ("By whom and of whom", ("rater", "grader", "grader_version")),
        ("Times", ("created_at", "updated_at", "replaced_at")),
    )
    texts = ("explanation",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Feedback]:
        queryset = super().get_queryset(request).select_related(*self.related)
        review_texts = ("review__reasoning", "review__details", "review__explanation", "review__dimensions")
        return queryset.defer(*self.unread(request), *review_texts, "rater__password")

    @admin.display(description="state")
    def current_state(self, feedback: Feedback) -> SafeString:
        if feedback.replaced_at is not None:
            return badge("superseded", "replaced")
        if feedback.value is None:
            return badge("rejected")
        return badge("active", "current")

    @admin.display(description="completion")
    def completion_link(self, feedback: Feedback) -> SafeString:
        return anchor(change_url(Completion(pk=feedback.completion_id)), ids.encode("comp", feedback.completion_id))

    @admin.display(description="explanation")
    def explanation_text(self, feedback: Feedback) -> str:
        return plain(feedback, "explanation")
