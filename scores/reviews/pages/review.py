"""The page of one review: the conversation, the grader's verdict, and the decision or its form."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find
from autotune.core import ids
from autotune.core.errors import AutotuneError, Invalid
from scores.models import Review
from scores.reviews import access, decisions
from scores.reviews.pages import desk, item
from scores.reviews.pages.forms import ReviewDecisionForm
from scores.reviews.pages.replies import by_script, replies


@page(("reviews", "read"))
def review(request: PageRequest, review_id: UUID) -> HttpResponse:
    """Show a review."""
    return _review_page(request, review_id)


@page(("reviews", "update"), methods=("POST",))
@replies
def decide(request: PageRequest, review_id: UUID) -> HttpResponseBase:
    """Decide on a review. After an error, show the review as it is now, with everything that was typed."""
    acting.concerns("reviews", "update", ids.encode("rev", review_id))
    pk, by = access.for_update(request.principal, review_id), access.reviewer(request.principal)
    form = ReviewDecisionForm(request.POST)
    if not form.is_valid():
        if by_script(request):
            detail = " ".join(str(error) for errors in form.errors.values() for error in errors)
            raise Invalid(detail)
        return _review_page(request, review_id, form, 400)
    try:
        decided = acting.do(request, lambda: decisions.decide(pk, form.decision(), by))
    except AutotuneError as exc:
        if by_script(request):
            raise
        form.refuse(exc)
        return _review_page(request, review_id, form, exc.status)
    if by_script(request):
        return JsonResponse({"status": decided.status, "value": decided.decided_value})
    messages.success(request, f"The review is {decided.status}.")
    return desk.onward(request, after=pk) if request.POST.get("back") == "next" else redirect("review", pk)


def _review_page(
    request: PageRequest, review_id: UUID, form: ReviewDecisionForm | None = None, status: int = 200
) -> HttpResponse:
    principal = request.principal
    rows = access.readable(principal).select_related("completion", "task").defer("details", "completion__metadata")
    row: Review = find(rows, review_id, "review")
    context = {
        "title": "Review",
        "crumbs": navigation.crumbs(("Reviews", reverse("reviews"))),
        "may_decide": policy.reach(principal, "reviews", "update") is not None,
        **item.context(request, row, form),
    }
    return render(request, "scores/reviews/review.html", context, status=status)
