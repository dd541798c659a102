"""AUTOTUNE_REQUIRE_SECOND_FACTOR: who must have a second factor does nothing by session before it is set up."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from autotune.access.models import Membership, User
from autotune.core import errors
from autotune.core.api import problems
from autotune.core.api.middleware import API_PREFIX

# What setting it up takes, and the way out.
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
    """By the setting: nobody, those who administer, or everybody."""
    if settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "admins":
        return administers(user)
    return settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "all"


def lacks_second_factor(user: User) -> bool:
    """Whether they must have one and have none: until then they may only set it up."""
    return (
        settings.AUTOTUNE_REQUIRE_SECOND_FACTOR != "off"
        and must_have_second_factor(user)
        and not has_second_factor(user)
    )


def administers(user: User) -> bool:
    """Whether they may use the admin site, or change people, roles or an organization somewhere."""
    if user.is_staff or user.is_superuser:
        return True
    held = Membership.objects.filter(user=user, organization__suspended=False).values_list(
        "role__permissions", flat=True
    )
    return any(
        permission["resource"] in ADMINISTERING and set(permission["actions"]) - {"read"}
        for permissions in held
        for permission in permissions
    )


class SecondFactorMiddleware:
    """Sends those who lack it to where it is set up. Requests with an API key are none of its concern."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        if settings.AUTOTUNE_REQUIRE_SECOND_FACTOR == "off" or self._is_open(request, view):
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
