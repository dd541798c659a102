"""The home page, and where links of events lead."""

from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from autotune.access.models import User
from autotune.site import overview


@require_safe
def home(request: HttpRequest) -> HttpResponseBase:
    """The overview of who is logged in; what Autotune is, for everybody else."""
    if isinstance(request.user, User):
        return overview.overview(request)
    return render(request, "site/home.html", {"public_url": settings.PUBLIC_URL})


@require_safe
def review(request: HttpRequest, review_id: UUID) -> HttpResponse:
    """The `reviewUrl` of `review.requested`: the administration's page, where a decision is made."""
    return redirect("admin:scores_review_change", review_id)
