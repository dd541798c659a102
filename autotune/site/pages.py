"""The home page."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from autotune.access.frame import entry
from autotune.access.models import User
from autotune.site.overviews import page


@require_safe
def home(request: HttpRequest) -> HttpResponseBase:
    """Show logged-in users their overview, and everybody else what Autotune is."""
    if isinstance(request.user, User):
        return page.overview(request)
    if request.headers.get("HX-Request"):  # the overview refreshes after its session has ended
        return entry.to_login(request)
    return render(request, "site/home.html", {"public_url": settings.PUBLIC_URL})
