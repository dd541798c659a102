"""The home page: says where things are, and nothing about anybody's data. And where links of events lead."""

from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "site/home.html", {"public_url": settings.PUBLIC_URL})


@require_safe
def review(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """The `reviewUrl` of `review.requested`: the administration's page, where a decision is made."""
    return redirect("admin:scores_review_change", review_id)
