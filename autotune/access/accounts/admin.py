"""Admin pages to view and remove second factors, sessions, single sign-on links and failed logins."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.models import WebSession
from autotune.core.admin.actions import confirmed, each
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import badge, linked, moment
from autotune.core.pages.formats import brief

for unused in (EmailAddress, SocialApp, SocialToken, Authenticator, SocialAccount):
    if admin.site.is_registered(unused):
        admin.site.unregister(unused)


class _Removable(PublicIdSearchMixin, ReadOnlyMixin):
    """Mixin for read-only rows that a superuser can delete. The search accepts a person's id."""

    finds: ClassVar[Mapping[str, str]] = MappingProxyType({"user": "user_id"})
    search_help_text: ClassVar[Any] = "A part of an email or a name, or a person's id (user_…)"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(Authenticator)
class AuthenticatorAdmin(_Removable, admin.ModelAdmin):
    """Deleting a second factor admits a person who lost their phone and recovery codes: verify their identity first."""

    list_display = (
        "type",
        linked("user", "person", order="user__email"),
        moment("created_at"),
        moment("last_used_at", "last used"),
    )
    list_filter = ("type", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__email", "user__name")
    show_full_result_count = False
    ordering = ("-created_at",)
    fields = ("user", "type", "created_at", "last_used_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Authenticator]:
        return super().get_queryset(request).defer("data")


@admin.register(SocialAccount)
class SocialAccountAdmin(_Removable, admin.ModelAdmin):
    """Links between a provider's subjects and people. A login with a verified email creates a deleted link again."""

    list_display = (
        "uid",
        linked("user", "person", order="user__email"),
        "provider",
        moment("date_joined", "linked"),
        moment("last_login", "last login"),
    )
    list_filter = ("provider", "date_joined")
    list_select_related = ("user",)
    search_fields = ("user__email", "user__name", "=uid")
    show_full_result_count = False
    ordering = ("-date_joined",)
    fields = ("user", "provider", "uid", "date_joined", "last_login")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SocialAccount]:
        return super().get_queryset(request).defer("extra_data")


@admin.action(description="End the selected sessions", permissions=["delete"])
@confirmed(
    "End these sessions?",
    warning="The people in these sessions are logged out at once. They can log in again.",
    button="End the sessions",
)
def end(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[WebSession]) -> None:
    each(model_admin, request, queryset, WebSession.delete, "ended")


@admin.register(WebSession)
class WebSessionAdmin(_Removable, admin.ModelAdmin):
    """Where people are logged in. A session's key is never shown, since it is not stored."""

    kind = "session"
    list_display = (
        "address",
        linked("user", "person", order="user__email"),
        "browser",
        moment("created_at", "started"),
    )
    list_filter = ("created_at",)
    list_select_related = ("user",)
    search_fields = ("user__email", "user__name", "=address")
    show_full_result_count = False
    ordering = ("-created_at",)
    fields = ("user", "address", "user_agent", "created_at", "expires_at")
    actions = (end,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebSession]:
        web_sessions = super().get_queryset(request).filter(user__isnull=False).select_related("user")
        return web_sessions.defer("data", "key_digest", "auth_hash", "user__password")

    @admin.display(description="browser")
    def browser(self, session: WebSession) -> str:
        return brief(session.user_agent, 70)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without the built-in deletion, which does the same as `end`."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


@admin.register(AccessAttempt)
class AccessAttemptAdmin(_Removable, admin.ModelAdmin):
    """Failed logins of the last 15 minutes. Deleting a person's rows unlocks their account."""

    finds: ClassVar[Mapping[str, str]] = MappingProxyType({})
    search_help_text = "A part of an email, or an exact IP address"
    list_display = ("username", "ip_address", "failures", moment("attempt_time", "last try"))
    list_filter = ("attempt_time",)
    search_fields = ("username", "=ip_address")
    show_full_result_count = False
    ordering = ("-attempt_time",)
    fields = ("username", "ip_address", "user_agent", "path_info", "failures_since_start", "attempt_time")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessAttempt]:
        return super().get_queryset(request).defer("get_data", "post_data")

    @admin.display(description="failures", ordering="failures_since_start")
    def failures(self, row: AccessAttempt) -> SafeString:
        locked = row.failures_since_start >= settings.AXES_FAILURE_LIMIT
        return (
            badge("failed", f"{row.failures_since_start}, locked out")
            if locked
            else badge("", str(row.failures_since_start))
        )
