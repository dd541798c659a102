"""Admit people to pages: only a logged-in member of an organization whose role allows what the page does."""

import functools
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control

from autotune.access import authentication, policy
from autotune.access.models import Membership, User
from autotune.access.principal import Principal
from autotune.access.throttling import throttles
from autotune.core.api import problems
from autotune.core.errors import AutotuneError, Forbidden
from autotune.core.pages import zones

SAFE = ("GET", "HEAD")
Needs = tuple[str, str]


class PageRequest(HttpRequest):
    """A request that `page` has admitted.

    principal    the person in the organization in which they act
    memberships  the person's memberships, the principal's first
    """

    principal: Principal
    memberships: list[Membership]


def page(
    *needs: Needs, methods: Sequence[str] = SAFE
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Return a decorator that turns a view into a page.

    needs    pairs of (resource, action), one of which the role must allow; without any, membership is enough
    methods  the allowed methods; others get 405

    Anonymous people are redirected to the login, which leads back. A typed error that the view raises becomes a page
    with its status: 404 for an object out of scope, as in the API. Times are shown in the person's time zone.
    """

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def handle(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in methods:
                return HttpResponseNotAllowed(methods)
            if not isinstance(request.user, User):
                return to_login(request)
            with timezone.override(zones.of(request.user.time_zone)):
                response = _admitted(request, lambda: view(request, *args, **kwargs), needs)
            patch_cache_control(response, private=True, no_store=True)
            return response

        handle.needs, handle.methods = needs, tuple(methods)  # type: ignore[attr-defined] # for the tests of all pages
        return handle

    return decorate


def _admitted(request: PageRequest, show: Callable[[], HttpResponseBase], needs: Sequence[Needs]) -> HttpResponseBase:
    """Return the page, or the page of the error that keeps the person from it."""
    try:
        with problems.converted():
            if not enter(request):
                return render(request, "access/frame/no_organization.html", status=403)
            _require(request.principal, needs)
            _count(request.principal)
            return show()
    except AutotuneError as error:
        return failed(request, error)


def enter(request: PageRequest) -> bool:
    """Set the request's principal; return False if the person belongs to no organization."""
    memberships = authentication.memberships_of(request)
    if not memberships:
        return False
    first = memberships[0]
    request.memberships = memberships
    request.principal = Principal(first.organization, first.role, request.user)  # type: ignore[arg-type]
    request.auth = request.principal  # type: ignore[attr-defined] # the audit log reads it there
    return True


def failed(request: HttpRequest, error: AutotuneError) -> HttpResponse:
    """Render the page of an error, with navigation if the person was admitted."""
    framed = hasattr(request, "principal")
    response = render(
        request,
        "access/frame/failure.html" if framed else "core/pages/failure.html",
        {"error": error},
        status=error.status,
    )
    response.problem_code = error.code  # type: ignore[attr-defined] # for the audit log
    for name, value in error.headers.items():
        response[name] = value
    return response


def _count(principal: Principal) -> None:
    """Count the request: a person's pages and their API calls by session share one rate.

    raises TooManyRequests
    """
    rate = throttles.principal_rate()
    if rate is not None:
        throttles.admit(throttles.subject_of(principal), rate, f"More than {rate.per_minute} requests a minute.")


def _require(principal: Principal, needs: Sequence[Needs]) -> None:
    if needs and not any(policy.reach(principal, *need) for need in needs):
        what = needs[0][0].replace("_", " ")
        role = principal.role.name.replace("_", " ")
        raise Forbidden(f"Your role in {principal.organization}, {role}, may not {needs[0][1]} {what}.")


def to_login(request: HttpRequest) -> HttpResponse:
    """Redirect a person without a session to the login, which leads back. Requests of htmx redirect the whole page."""
    is_partial = bool(request.headers.get("HX-Request"))
    if is_partial:
        current_page = urlsplit(request.headers.get("HX-Current-URL", ""))
        next_url = (
            f"{current_page.path}?{current_page.query}".rstrip("?") if current_page.netloc == request.get_host() else ""
        )
    else:
        next_url = request.get_full_path() if request.method in SAFE else ""
    login = reverse("account_login")
    if next_url:
        login = f"{login}?{urlencode({REDIRECT_FIELD_NAME: next_url})}"
    return HttpResponse(status=204, headers={"HX-Redirect": login}) if is_partial else redirect(login)
