"""The door of every page: a logged-in person in one organization, whose role allows what the page is for."""

import functools
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control

from autotune.access import authentication, policy
from autotune.access.models import Membership, User
from autotune.access.principal import Principal
from autotune.access.throttling import throttles
from autotune.core.api import problems
from autotune.core.errors import AutotuneError, Forbidden

SAFE = ("GET", "HEAD")
Needs = tuple[str, str]


class PageRequest(HttpRequest):
    """A request that came through `page`.

    principal    the person in the organization in which they act
    memberships  theirs, that of the principal first
    """

    principal: Principal
    memberships: list[Membership]


def page(
    *needs: Needs, methods: Sequence[str] = SAFE
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Make a view a page.

    needs    (resource, action): one of them is enough; without any, membership is
    methods  what it answers; others are 405

    Anonymous people are sent to the login and come back. A typed error that the view raises is a page with its status:
    404 for what is out of scope, as in the API.
    """

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def handle(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in methods:
                return HttpResponseNotAllowed(methods)
            if not isinstance(request.user, User):
                return to_login(request)
            try:
                if not enter(request):
                    return render(request, "frame/no_organization.html", status=403)
                _require(request.principal, needs)
                _count(request.principal)
                response = view(request, *args, **kwargs)
            except Exception as exc:
                error = problems.typed(exc)
                if error is None:
                    raise
                response = failed(request, error)
            patch_cache_control(response, private=True, no_store=True)
            return response

        handle.needs, handle.methods = needs, tuple(methods)  # type: ignore[attr-defined] # for the tests of all pages
        return handle

    return decorate


def enter(request: PageRequest) -> bool:
    """Set the request's principal; whether the person belongs to an organization at all."""
    memberships = authentication.memberships_of(request)
    if not memberships:
        return False
    first = memberships[0]
    request.memberships = memberships
    request.principal = Principal(first.organization, first.role, request.user)  # type: ignore[arg-type]
    request.auth = request.principal  # type: ignore[attr-defined] # where the audit trail looks for it
    return True


def failed(request: HttpRequest, error: AutotuneError) -> HttpResponse:
    """The page of an error, inside the frame where there is one."""
    framed = hasattr(request, "principal")
    response = render(
        request, "frame/failure.html" if framed else "site/failure.html", {"error": error}, status=error.status
    )
    response.problem_code = error.code  # type: ignore[attr-defined] # for the audit trail
    for name, value in error.headers.items():
        response[name] = value
    return response


def _count(principal: Principal) -> None:
    """A person's pages and their calls of the API by session have one rate.

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
    """Send a person without a session to the login. A request for a part of a page sends the whole page, and back."""
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
