"""Routes of the account pages, with the names that django-allauth expects."""

from allauth.account import views as account
from allauth.mfa.base import views as factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from django.conf import settings
from django.urls import URLPattern, path, re_path
from django.views.generic import RedirectView, TemplateView

from autotune.access.accounts import joining_pages, oidc, pages

SIGN_ON = {"provider_id": settings.AUTOTUNE_OIDC_ID}
KEY = r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]{1,40})-(?P<key>[0-9A-Za-z-]{1,100})$"

urlpatterns: list[URLPattern] = [
    path("account", pages.account, name="account"),
    path("account/name", pages.rename, name="account_name"),
    path("account/time-zone", pages.choose_time_zone, name="account_time_zone"),
    path("account/organization", pages.switch, name="account_organization"),
    path("account/sessions", pages.end_sessions, name="account_sessions"),
    path("account/login", account.login, name="account_login"),
    path("account/logout", account.logout, name="account_logout"),
    path("account/join", TemplateView.as_view(template_name="account/signup_closed.html"), name="account_signup"),
    path("account/inactive", account.account_inactive, name="account_inactive"),
    path("account/confirm", account.reauthenticate, name="account_reauthenticate"),
    path("account/password", account.password_change, name="account_change_password"),
    # A first password needs a mailed link: a stolen session must not gain a login that outlives single sign-on.
    path(
        "account/password/new", RedirectView.as_view(pattern_name="account_reset_password"), name="account_set_password"
    ),
    path("account/password/forgotten", account.password_reset, name="account_reset_password"),
    path("account/password/sent", account.password_reset_done, name="account_reset_password_done"),
    path("account/password/done", account.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    re_path(KEY, account.password_reset_from_key, name="account_reset_password_from_key"),
    path("account/code", factor.authenticate, name="mfa_authenticate"),
    path("account/confirm/code", factor.reauthenticate, name="mfa_reauthenticate"),
    path("account/second-factor", RedirectView.as_view(pattern_name="account"), name="mfa_index"),
    path("account/second-factor/on", totp.activate_totp, name="mfa_activate_totp"),
    path("account/second-factor/off", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("account/recovery-codes", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("account/recovery-codes/new", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("account/recovery-codes/file", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
    path("account/sso/login", oidc.depart, SIGN_ON, name="openid_connect_login"),
    path("account/sso/callback", oidc.arrive, SIGN_ON, name="openid_connect_callback"),
    path(
        "account/sso/cancelled",
        TemplateView.as_view(template_name="socialaccount/login_cancelled.html"),
        name="socialaccount_login_cancelled",
    ),
    path("invitations/<str:token>", joining_pages.invitation, name="invitation"),
    path("admin/login/", pages.admin_login),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
]
