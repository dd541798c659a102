"""Admin page of people and their rights on the admin site."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.admin.keys import KeysInline
from autotune.access.admin.members import MembershipsInline
from autotune.access.models import User
from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin
from autotune.core.admin.cells import badge, moment
from autotune.core.admin.inlines import InlinesMixin


class UserAddForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("email", "name")


class UserForm(UserChangeForm):
    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserAdmin(InlinesMixin, PublicIdSearchMixin, BaseUserAdmin):
    """People, who log in by email. They are deactivated, not deleted, because what they created refers to them."""

    kind = "user"
    form = UserForm
    add_form = UserAddForm
    list_display = ("email", "name", "current_state", "powers_held", moment("last_login", "last login"), "created_at")
    list_filter = ("is_active", "is_staff", "is_superuser", "created_at")
    search_fields = ("email", "name")
    search_help_text = "A part of an email or a name, or an id (user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("email",)
    inlines = (MembershipsInline, KeysInline)
    fieldsets = (
        (None, {"fields": ("public_id", "email", "name", "time_zone", "password")}),
        ("Admin site", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("email", "name", "usable_password", "password1", "password2")}),
    )
    readonly_fields = ("public_id", "time_zone", "last_login", "created_at")
    powers = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the read-only fields: only a superuser can give rights on the admin site."""
        return self.readonly_fields + (() if request.user.is_superuser else self.powers)

    @admin.display(description="id")
    def public_id(self, user: User) -> str:
        return ids.encode("user", user.pk)

    @admin.display(description="state", ordering="is_active")
    def current_state(self, user: User) -> SafeString:
        return badge("active") if user.is_active else badge("disabled", "deactivated")

    @admin.display(description="administration", ordering="is_staff")
    def powers_held(self, user: User) -> SafeString:
        if user.is_superuser and user.is_staff:
            return badge("warn", "superuser")
        return badge("staff") if user.is_staff else badge("")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        above = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
