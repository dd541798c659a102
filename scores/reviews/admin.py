"""Admin pages of reviews, with a form in which a superuser decides as in the API."""

from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin import figures
from autotune.core.admin.actions import each
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, SuperuserTextMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, figure, linked, moment
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from autotune.core.errors import AutotuneError, Conflict
from autotune.core.pages import formats
from graders.models import Grader
from scores.models import Review, WorkflowRun
from scores.results import privacy
from scores.reviews import decisions, queue
from scores.reviews.decisions import ReviewDecision, Reviewer
from scores.states import ReviewStatus
from tasks.models import Completion, Task

BLIND = "hidden until a decision: the review is blind"
APPROVE, ADJUST, REJECT = "approve", "adjust", "reject"
CHOICES = (
    (APPROVE, "Approve the preliminary score"),
    (ADJUST, "Approve with another score"),
    (REJECT, "Reject: the workflow run fails"),
)


class DecisionAdminForm(forms.ModelForm):
    """The form in which a superuser approves, adjusts or rejects a preliminary score."""

    decision = forms.ChoiceField(choices=CHOICES, widget=forms.RadioSelect)
    score = forms.FloatField(
        min_value=0, max_value=1, required=False, help_text="From 0 to 1. Required to approve with another score."
    )
    remark = forms.CharField(
        label="Explanation", max_length=20_000, required=False, widget=forms.Textarea(attrs={"rows": 4})
    )

    class Meta:
        model = Review
        fields: tuple[str, ...] = ()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        scored, decision = cleaned.get("score") is not None, cleaned.get("decision")
        if decision == ADJUST and not scored and "score" not in self.errors:
            self.add_error("score", "Enter the score, from 0 to 1.")
        if decision in (APPROVE, REJECT) and scored:
            self.add_error("score", f"Leave the score empty, or choose “{CHOICES[1][1]}”.")
        return cleaned

    def decided(self) -> ReviewDecision:
        cleaned = self.cleaned_data
        return ReviewDecision(cleaned["decision"] != REJECT, cleaned["score"], cleaned["remark"] or None)


@admin.action(description="Release the claims of the selected reviews", permissions=["release"])
def release_claims(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Review]) -> None:
    """Release the claims, so that other people can claim the reviews."""
    each(model_admin, request, queryset.select_related("claimed_by"), _release, "released")


def _release(review: Review) -> None:
    """Release the claim, as the claimant can; raises Conflict if nobody has claimed the review."""
    if review.claimed_by is None or not queue.release(review.pk, Reviewer(review.claimed_by)):
        raise Conflict("Nobody holds it.", code="not_claimed")


class ClaimFilter(admin.SimpleListFilter):
    title, parameter_name = "held", "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "open, held by somebody"), ("no", "open and free"), ("soon", "open, expires within a day")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now, open_reviews = timezone.now(), queryset.filter(status=ReviewStatus.OPEN)
        match self.value():
            case "yes":
                return open_reviews.filter(claimed_until__gt=now)
            case "no":
                return open_reviews.exclude(claimed_until__gt=now)
            case "soon":
                return open_reviews.filter(expires_at__lte=now + timedelta(days=1))
        return queryset


@admin.register(Review)
class ReviewAdmin(LargeTableMixin, PublicIdSearchMixin, ProductPageMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "rev"
    page_name = "review"
    finds = MappingProxyType(
        {"comp": "completion_id", "task": "task_id", "grader": "grader_id", "org": "organization_id", "run": "run_id"}
    )
    form = DecisionAdminForm
    actions = (release_claims,)
    related = ("organization", "task", "grader", "grader_version", "claimed_by", "decided_by")
    list_display = (
        "public_id", "current_state", linked("task"), linked("grader"),
        "preliminary_score", "preliminary_confidence",
        moment("expires_at", order=""), linked("decided_by", "decided by"),
        figure("decided_value", formats.score, "decided score"), moment("created_at", "opened", order=""),
    )  # fmt: skip
    list_filter = (
        "status", ClaimFilter, named(Organization, "org"), named(Task, "task"), named(Grader, "grader"), CreatedWithin,
    )  # fmt: skip
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "grader__name")
    search_help_text = (
        "A part of a task's or grader's name, exactly an external id, or an id "
        "(rev_…, run_…, comp_…, task_…, grader_… or org_…)"
    )
    groups = (
        (
            None,
            (
                "public_id",
                "current_state",
                "organization",
                "completion_link",
                "task",
                "run_link",
                "expires_at",
                "created_at",
            ),
        ),
        (
            "The grader’s verdict",
            ("grader", "grader_version", "preliminary_score", "preliminary_confidence", "dimensions_shown"),
        ),
        (
            "Claim and decision",
            ("claimed_by", "claimed_until", "decided_by", "decided_at", "decided_value", "decided_raw_value"),
        ),
    )
    texts = ("prompt", "messages", "response", "reasoning", "details", "explanation")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Review]:
        reviews = super().get_queryset(request).select_related(*self.related)
        passwords = ("claimed_by__password", "decided_by__password")
        return reviews.defer("reasoning", "details", "explanation", "task__metadata", *passwords)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_review")

    def has_change_permission(self, request: HttpRequest, obj: Review | None = None) -> bool:
        """Superusers can decide while the review is open, since they can read its text."""
        return request.user.is_superuser and (obj is None or obj.status == ReviewStatus.OPEN)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is not None and self.has_change_permission(request, obj):
            fieldsets.append(("Decision", {"fields": ("decision", "score", "remark")}))
        return fieldsets

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Report a decision that comes too late, and show the page with what was decided."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except AutotuneError as exc:
            self.message_user(request, exc.detail, messages.ERROR)
            return HttpResponseRedirect(request.path)

    def save_model(self, request: HttpRequest, obj: Review, form: Any, change: bool) -> None:
        decisions.decide(obj.pk, form.decided(), Reviewer(request.user, administers=True))  # type: ignore[arg-type]

    @admin.display(description="state")
    def current_state(self, review: Review) -> SafeString:
        if review.status != ReviewStatus.OPEN:
            return badge(review.status)
        now = timezone.now()
        if review.expires_at <= now:
            return badge("expired")
        is_claimed = review.claimed_until is not None and review.claimed_until > now
        return (
            badge("claimed", f"held by {formats.brief(review.claimed_by, 40)}")
            if is_claimed
            else badge("open", "waits for a person")
        )

    @admin.display(description="completion")
    def completion_link(self, review: Review) -> SafeString:
        return anchor(change_url(Completion(pk=review.completion_id)), ids.encode("comp", review.completion_id))

    @admin.display(description="run")
    def run_link(self, review: Review) -> SafeString:
        return anchor(change_url(WorkflowRun(pk=review.run_id)), ids.encode("run", review.run_id))

    @admin.display(description="preliminary score")
    def preliminary_score(self, review: Review) -> str:
        return BLIND if review.hides_verdict else formats.score(review.value)

    @admin.display(description="confidence")
    def preliminary_confidence(self, review: Review) -> str:
        return BLIND if review.hides_verdict else formats.score(review.confidence)

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
        return self._verdict_text(review, "reasoning", kept=review.grader.redact_reasoning)

    @admin.display(description="details")
    def details_text(self, review: Review) -> str:
        return self._verdict_text(review, "details", kept=review.grader.redact_reasoning)

    @admin.display(description="dimensions")
    def dimensions_shown(self, review: Review) -> str:
        return self._verdict_text(review, "dimensions", kept=review.grader.redact_dimensions)

    def _verdict_text(self, review: Review, name: str, *, kept: bool) -> str:
        if review.hides_verdict:
            return BLIND
        return privacy.KEPT if kept else plain(review, name)

    @admin.display(description="explanation")
    def explanation_text(self, review: Review) -> str:
        return plain(review, "explanation")


figures.register(
    "Reviews that wait", Review, lambda: Review.objects.filter(status=ReviewStatus.OPEN), "status__exact=open"
)
