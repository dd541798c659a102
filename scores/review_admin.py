"""Admin pages of reviews: what waits for a person, and the form by which a superuser decides, as the API does."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, TextForSuperusers, plain
from autotune.core.errors import AutotuneError
from scores import deciding, privacy
from scores.deciding import Decision, Reviewer
from scores.models import Review
from scores.states import ReviewStatus

APPROVE, ADJUST, REJECT = "approve", "adjust", "reject"
CHOICES = (
    (APPROVE, "Approve the preliminary score"),
    (ADJUST, "Approve with another score"),
    (REJECT, "Reject: the run fails"),
)


class DecisionForm(forms.ModelForm):
    decision = forms.ChoiceField(choices=CHOICES, widget=forms.RadioSelect)
    score = forms.FloatField(min_value=0, max_value=1, required=False, help_text="From 0 to 1, with the second choice.")
    remark = forms.CharField(
        label="Explanation", max_length=20_000, required=False, widget=forms.Textarea(attrs={"rows": 4})
    )

    class Meta:
        model = Review
        fields: tuple[str, ...] = ()

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        scored, decision = given.get("score") is not None, given.get("decision")
        if decision == ADJUST and not scored and "score" not in self.errors:
            self.add_error("score", "Give the score.")
        if decision in (APPROVE, REJECT) and scored:
            self.add_error("score", f"A score goes with “{CHOICES[1][1]}” alone.")
        return given

    def decided(self) -> Decision:
        given = self.cleaned_data
        return Decision(given["decision"] != REJECT, given["score"], given["remark"] or None)


@admin.register(Review)
class ReviewAdmin(PublicIdSearch, TextForSuperusers, admin.ModelAdmin):
    kind = "rev"
    form = DecisionForm
    related = ("organization", "task", "grader", "grader_version", "claimed_by", "decided_by")
    list_display = (
        "public_id", "completion_public_id", "task", "grader", "status", "preliminary_score", "confidence",
        "claimed_by", "expires_at", "decided_by", "decided_value", "created_at",
    )  # fmt: skip
    list_filter = ("status", "created_at")
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    show_full_result_count = False
    ordering = ("-id",)
    facts = (
        "public_id", "organization", "completion_public_id", "task", "grader", "grader_version", "status",
        "preliminary_score", "confidence", "dimensions_shown", "claimed_by", "claimed_until", "decided_by",
        "decided_at", "decided_value", "expires_at", "created_at",
    )  # fmt: skip
    texts = ("prompt", "messages", "response", "reasoning", "explanation")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Review]:
        found = super().get_queryset(request).select_related(*self.related)
        return found.defer("reasoning", "explanation", "task__metadata")

    def has_change_permission(self, request: HttpRequest, obj: Review | None = None) -> bool:
        """Who can read the texts can decide, while there is something to decide."""
        return request.user.is_superuser and (obj is None or obj.status == ReviewStatus.OPEN)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return super().get_fields(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        shown: list[Any] = [(None, {"fields": super().get_fields(request, obj)})]
        if obj is not None and self.has_change_permission(request, obj):
            shown.append(("Decision", {"fields": ("decision", "score", "remark")}))
        return shown

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A decision that comes too late is told, and the page shows what was decided."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except AutotuneError as exc:
            self.message_user(request, exc.detail, messages.ERROR)
            return HttpResponseRedirect(request.path)

    def save_model(self, request: HttpRequest, obj: Review, form: Any, change: bool) -> None:
        deciding.decide(obj.pk, form.decided(), Reviewer(request.user, administers=True))  # type: ignore[arg-type]

    @admin.display(description="completion")
    def completion_public_id(self, review: Review) -> str:
        return ids.encode("comp", review.completion_id)

    @admin.display(ordering="value")
    def preliminary_score(self, review: Review) -> float:
        return review.value

    @admin.display(description="prompt")
    def prompt_text(self, review: Review) -> str:
        return plain(review.completion, "prompt")

    @admin.display(description="messages")
    def messages_text(self, review: Review) -> str:
        return plain(review.completion, "messages")

    @admin.display(description="response")
    def response_text(self, review: Review) -> str:
        return plain(review.completion, "response")

    @admin.display(description="reasoning")
    def reasoning_text(self, review: Review) -> str:
        return privacy.KEPT if review.grader.redact_reasoning else plain(review, "reasoning")

    @admin.display(description="dimensions")
    def dimensions_shown(self, review: Review) -> str:
        return privacy.KEPT if review.grader.redact_dimensions else plain(review, "dimensions")

    @admin.display(description="explanation")
    def explanation_text(self, review: Review) -> str:
        return plain(review, "explanation")
