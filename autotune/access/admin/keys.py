"""Admin pages of API keys: their role, bounds and state; never the key itself."""

from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.access.admin.filters import OrganizationFilter
from autotune.access.keys import tokens
from autotune.access.models import ApiKey
from autotune.core.admin.actions import confirmed, each
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import badge, linked, moment
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.errors import Conflict


class KeysInline(NewestRowsInline):
    """The newest keys of an organization or a person, each with its last four characters."""

    model = ApiKey
    verbose_name_plural = "newest API keys"
    fields = ("key_state", "kind", linked("role"), linked("user"), "last_used_at", "created_at")
    related = ("role", "user")
    hidden = ("digest",)
    ordering = ("-created_at",)

    @admin.display(description="state")
    def key_state(self, key: ApiKey) -> SafeString:
        return _key_badge(key)


@admin.action(description="Revoke the selected keys", permissions=["revoke"])
@confirmed(
    "Revoke these API keys?",
    warning="Autotune rejects requests with these keys from now on. A revoked key never works again.",
    button="Revoke the keys",
)
def revoke(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
    each(model_admin, request, queryset, _revoke, "revoked")


def _revoke(key: ApiKey) -> None:
    if key.revoked_at is not None:
        raise Conflict("It is already revoked.", code="revoked")
    tokens.revoke(key)


class KeyStateFilter(admin.SimpleListFilter):
    title, parameter_name = "state", "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "active"), ("expired", "expired"), ("revoked", "revoked"), ("unused", "active, never used")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        over = Q(expires_at__lte=timezone.now())
        match self.value():
            case "active":
                return queryset.filter(revoked_at=None).exclude(over)
            case "expired":
                return queryset.filter(over, revoked_at=None)
            case "revoked":
                return queryset.exclude(revoked_at=None)
            case "unused":
                return queryset.filter(revoked_at=None, last_used_at=None).exclude(over)
        return queryset


@admin.register(ApiKey)
class ApiKeyAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """View and revoke API keys. The API, the pages and `bootstrap` create them and show each key once."""

    kind = "key"
    finds = MappingProxyType({"org": "organization_id", "user": "user_id", "role": "role_id"})
    related = ("organization", "role", "user", "replaced_by")
    list_display = (
        "name", "key_state", "kind", "last_four", linked("organization", order="organization__name"),
        linked("role", order="role__name"), linked("user", "person", order="user__email"),
        moment("last_used_at", "last used"),
        moment("expires_at", "expires"),
    )  # fmt: skip
    list_filter = (KeyStateFilter, "kind", OrganizationFilter, "created_at")
    list_select_related = ("organization", "role", "user")
    search_fields = ("name", "=last_four", "organization__name", "user__email")
    search_help_text = (
        "A part of a name, organization or email, the last four characters, or an id (key_…, org_…, user_…)"
    )
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-created_at",)
    fieldsets = (
        (None, {"fields": ("public_id", "name", "key_state", "kind", "last_four")}),
        ("What it may do", {"fields": ("organization", "role", "user", "networks")}),
        ("Times", {"fields": ("created_at", "expires_at", "revoked_at", "last_used_at", "replaced_by")}),
    )
    actions = (revoke,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        hidden = ("digest", "replaced_by__digest")
        return super().get_queryset(request).select_related(*self.related).defer(*hidden)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("access.change_apikey")

    @admin.display(description="state", ordering="revoked_at")
    def key_state(self, key: ApiKey) -> SafeString:
        return _key_badge(key)


def _key_badge(key: ApiKey) -> SafeString:
    if key.revoked_at is not None:
        return badge("revoked")
    return badge("expired") if key.expires_at is not None and key.expires_at <= timezone.now() else badge("active")
