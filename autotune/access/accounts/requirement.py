"""Enforce AUTOTUNE_REQUIRE_SECOND_FACTOR: a person who needs a second factor must set it up before anything else."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from autotune.access.models import Membership, User
from autotune.core import errors
from autotune.core.api import problems
from autotune.core.api.middleware import API_PREFIX

# The pages needed to set it up, and to log out.
ALLOWED = {
    "mfa_activate_totp", "mfa_view_recovery_codes", "mfa_download_recovery_codes", "mfa_reauthenticate",
    "account_reauthenticate", "account_logout", "logout", "schema", "docs",
}  # fmt: skip
ADMINISTERING = {"members", "roles", "organizations"}


class SecondFactorRequired(errors.Forbidden):
    code, title = "second_factor_required", "Second factor required"


def has_second_factor(user: User) -> bool:
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists()


def must_have_second_factor(user: User) -> bool:
    """Return whether the setting requires it of this person: `off`, `admins` or `all`."""
    if settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "admins":
        return administers(user)
    return settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "all"


def lacks_second_factor(user: User) -> bool:
    """Return whether the person must have a second factor and has none, so that they may only set it up."""
    return (
        settings.AUTOTUNE_REQUIRE_SECOND_FACTOR != "off"
        and must_have_second_factor(user)
        and not has_second_factor(user)
    )


def administers(user: User) -> bool:
    """Return whether the person may use the admin site, or change members, roles or an organization anywhere."""
    if user.is_staff or user.is_superuser:
        return True
    memberships = Membership.objects.filter(user=user, organization__suspended=False).values_list(
        "role__permissions", flat=True
    )
    return any(
        permission["resource"] in ADMINISTERING and set(permission["actions"]) - {"read"}
        for permissions in memberships
        for permission in permissions
    )


class SecondFactorMiddleware:
    """Redirect people who lack a required second factor to its setup. Requests with an API key pass.

    A server that requires no second factor does without this middleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "off":
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        if self._is_open(request, view):
            return None
        user = request.user
        if not isinstance(user, User) or not lacks_second_factor(user):
            return None
        if request.path.startswith(API_PREFIX):
            error = SecondFactorRequired("Set up your second factor on the account page first.")
            return problems.answer(error, request)
        back = {"next": request.get_full_path()} if request.method == "GET" else {}
        return redirect(f"{reverse('mfa_activate_totp')}?{urlencode(back)}" if back else reverse("mfa_activate_totp"))

    def _is_open(self, request: HttpRequest, view: Callable[..., Any]) -> bool:
        match = request.resolver_match
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or (match and match.url_name in ALLOWED):
            return True
        if not request.path.startswith(API_PREFIX):
            return False
        return "HTTP_AUTHORIZATION" in request.META or getattr(view, "view_class", view).__dict__.get("open", False)
