"""Admin page of built-in and custom roles."""

from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.admin.filters import OrganizationFilter
from autotune.access.models import Role
from autotune.access.roles import builtin
from autotune.core.admin.base import PublicIdSearchMixin
from autotune.core.admin.cells import badge, linked


class RoleAdminForm(forms.ModelForm):
    """Reject permissions that the policy could not read."""

    def clean_permissions(self) -> list[dict[str, Any]]:
        permissions = self.cleaned_data["permissions"]
        if fault := builtin.fault(permissions):
            raise forms.ValidationError(fault)
        permissions = builtin.expanded(permissions)
        if fault := builtin.fault(permissions):  # short names have made them more than a role can hold
            raise forms.ValidationError(fault)
        return permissions


@admin.register(Role)
class RoleAdmin(PublicIdSearchMixin, admin.ModelAdmin):
    """Built-in roles are read-only; an organization's own can be changed."""

    kind = "role"
    form = RoleAdminForm
    finds = MappingProxyType({"org": "organization_id"})
    list_display = (
        "name",
        linked("organization", order="organization__name"),
        "origin",
        "description",
        "grants",
        "created_at",
    )
    list_filter = (("organization", admin.EmptyFieldListFilter), OrganizationFilter, "created_at")
    list_select_related = ("organization",)
    search_fields = ("name", "description", "organization__name")
    search_help_text = "A part of a name, description or organization, or an id (role_… or org_…)"
    autocomplete_fields = ("organization",)
    ordering = ("name", "pk")
    show_full_result_count = False
    fields = ("organization", "name", "description", "permissions", "created_at")
    readonly_fields = ("created_at",)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **more: Any) -> Any:
        form = super().get_form(request, obj, change=change, **more)
        if "organization" in form.base_fields:
            form.base_fields["organization"].required = True
        return form

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not _built_in(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not _built_in(obj) and super().has_delete_permission(request, obj)

    @admin.display(description="origin")
    def origin(self, role: Role) -> SafeString:
        return badge("busy", "built in") if _built_in(role) else badge("custom")

    @admin.display(description="allows")
    def grants(self, role: Role) -> str:
        return ", ".join(sorted({str(entry.get("resource", "?")) for entry in role.permissions})) or "nothing"


def _built_in(role: Role | None) -> bool:
    return role is not None and role.organization_id is None
