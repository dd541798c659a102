"""OpenID Connect: send people to the provider, handle their return, and verify what the provider says."""

from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST


class OIDCAdapter(OpenIDConnectOAuth2Adapter):
    """The configured issuer. Its id token is verified even though it comes directly from the issuer."""

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        if str(config.get("issuer", "")).rstrip("/") != settings.AUTOTUNE_OIDC_ISSUER:
            raise OAuth2Error("The provider's issuer is not AUTOTUNE_OIDC_ISSUER.")
        return config

    @property
    def basic_auth(self) -> bool:
        """Whether the client secret is sent in the header, which is OpenID Connect's default."""
        return "client_secret_basic" in self.openid_config.get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return settings.PUBLIC_URL + reverse("openid_connect_callback", kwargs={"provider_id": self.provider_id})

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **more: Any) -> SocialLogin:
        if "id_token" not in more["response"]:
            raise OAuth2Error("The provider's response has no id token.")
        claims = self._decode_id_token(app, more["response"]["id_token"])
        user_info = self._fetch_user_info(token.token)
        if not claims.get("sub") or user_info.get("sub") != claims["sub"]:
            raise OAuth2Error("The id token and the user info name different subjects.")
        login: SocialLogin = self.get_provider().sociallogin_from_response(
            request, {"userinfo": profile(claims, user_info), "id_token": claims}
        )
        login.account.extra_data = {}  # keep no other data that the provider has about the person
        return login

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        try:
            return jwtkit.verify_and_decode(
                credential=id_token,
                keys_url=self.openid_config["jwks_uri"],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        except (KeyError, ValueError, jwtkit.jwt.PyJWTError) as exc:
            raise OAuth2Error("The provider's id token failed verification.") from exc


def profile(claims: dict[str, Any], user_info: dict[str, Any]) -> dict[str, Any]:
    """Merge the id token with the user info. An email and its `email_verified` come from the same source."""
    merged_claims = {**claims, **user_info}
    if "email" in user_info and user_info["email"] != claims.get("email"):
        merged_claims["email_verified"] = user_info.get("email_verified", False)
    return merged_claims


@require_POST
@never_cache
def depart(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Show a page that leads to the provider, since `form-action` would block a redirect to its unknown hosts."""
    provider = _provider(request, provider_id).get_provider()
    try:
        response: HttpResponse = provider.redirect(
            request,
            process=AuthProcess.LOGIN,
            next_url=get_next_redirect_url(request),
            scope=provider.get_scope(),
            auth_params=provider.get_auth_params(),
        )
    except OAuth2Error as exc:  # its configuration could not be read
        response = render_authentication_error(request, provider, exception=exc)
    if response.status_code != 302:
        return response
    page = {"url": response["Location"], "name": settings.AUTOTUNE_OIDC_NAME}
    return render(request, "access/accounts/leaving.html", page)


@require_GET
@never_cache
def arrive(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Handle a person's return from the provider, with a code or an error."""
    view = OAuth2CallbackView.adapter_view(_provider(request, provider_id))
    response: HttpResponseBase = view(request)
    return response


def _provider(request: HttpRequest, provider_id: str) -> OIDCAdapter:
    if not settings.AUTOTUNE_OIDC_ISSUER:
        raise Http404
    return OIDCAdapter(request, provider_id)
