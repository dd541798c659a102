"""Adapt django-allauth: who may log in, how it sends mail and HTTP requests, and how it stores secrets."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.reauthentication import get_reauthentication_flows
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.module_loading import import_string

from autotune.access.accounts import arrivals, lockout, mailing, owners, secrets
from autotune.access.accounts.exchange import OutboundSession


class AccountAdapter(DefaultAccountAdapter):
    """Accounts need an invitation. Links in mails start with AUTOTUNE_PUBLIC_URL, whatever the request's host is."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return lockout.address(request)

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether the URL is a path on this server."""
        return url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_reset_password_from_key_url(self, key: str) -> str:
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return settings.PUBLIC_URL + path.replace("UID-KEY", key)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        more = {"email": email, "public_url": settings.PUBLIC_URL, **context}
        mailing.send_soon(self.render_mail(template_prefix, email, more))

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Return whether the person must confirm their identity; False for those with only single sign-on."""
        return bool(get_reauthentication_flows(context.request.user))


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return secrets.keep(owners.current(), text)

    def decrypt(self, encrypted_text: str) -> str:
        return secrets.read(owners.current(), encrypted_text)


class SignOnAdapter(DefaultSocialAccountAdapter):
    """Single sign-on admits linked people, and people with a verified email and an account or invitation here."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def get_requests_session(self) -> OutboundSession:
        return OutboundSession()

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[Any]:
        """Return the apps of the settings only; the table of apps is not used."""
        from allauth.socialaccount.adapter import _build_apps_from_settings

        built = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for apps in built.values() for app in apps]

    def get_provider(self, request: HttpRequest, provider: str, client_id: Any = None) -> Any:
        oidc_provider = super().get_provider(request, provider, client_id)
        oidc_provider.oauth2_adapter_class = import_string("autotune.access.accounts.oidc.OIDCAdapter")
        return oidc_provider

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> Any:
        sociallogin.user.email = data.get("email") or ""
        sociallogin.user.name = " ".join(str(data.get("name") or "").split())[:200]
        return sociallogin.user

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        reason = arrivals.settle(request, sociallogin)
        if reason:
            page = {"reason": reason, "name": settings.AUTOTUNE_OIDC_NAME}
            raise ImmediateHttpResponse(render(request, "access/accounts/refused.html", page, status=403))
