"""Admin pages of organizations, people, roles and keys."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.access import keys, members, roles
from autotune.access import throttle_admin as throttle_admin  # registers its page
from autotune.access.accounts import admin as accounts_admin  # noqa: F401 - registers its pages
from autotune.access.audit import admin as audit_admin  # noqa: F401 - registers its pages
from autotune.access.models import ApiKey, Membership, Organization, Role, StoredAnswer, User
from autotune.core.admin import PublicIdSearch, Record

admin.site.unregister(Group)  # what people may do is in roles


@admin.register(Organization)
class OrganizationAdmin(PublicIdSearch, admin.ModelAdmin):
    """Named and suspended here; which one operates the installation is settled when it is made."""

    kind = "org"
    list_display = ("name", "operating", "suspended", "created_at")
    list_filter = ("operating", "suspended", "created_at")
    search_fields = ("name",)
    show_full_result_count = False
    fields = ("name", "operating", "suspended", "text_days", "score_days", "created_at")
    readonly_fields = ("operating", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class UserAddForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("email", "name")


class UserForm(UserChangeForm):
    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserAdmin(PublicIdSearch, BaseUserAdmin):
    """People log in by email. They are deactivated, not deleted: what they made keeps naming them."""

    kind = "user"
    form = UserForm
    add_form = UserAddForm
    list_display = ("email", "name", "is_active", "is_staff", "is_superuser", "last_login", "created_at")
    list_filter = ("is_active", "is_staff", "is_superuser", "created_at")
    search_fields = ("email", "name")
    show_full_result_count = False
    ordering = ("email",)
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("Admin site", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("email", "name", "usable_password", "password1", "password2")}),
    )
    readonly_fields = ("last_login", "created_at")
    powers = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only a superuser gives powers."""
        return self.readonly_fields + (() if request.user.is_superuser else self.powers)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        above = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class RoleForm(forms.ModelForm):
    """Refuses permissions that the policy could not read."""

    def clean_permissions(self) -> list[dict[str, Any]]:
        given = self.cleaned_data["permissions"]
        if fault := roles.fault(given):
            raise forms.ValidationError(fault)
        return given


@admin.register(Role)
class RoleAdmin(PublicIdSearch, admin.ModelAdmin):
    """Built-in roles are shown; an organization's own may be changed."""

    kind = "role"
    form = RoleForm
    list_display = ("name", "organization", "description", "created_at")
    list_filter = (("organization", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("organization",)
    search_fields = ("name", "description", "organization__name")
    autocomplete_fields = ("organization",)
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


class MembershipForm(forms.ModelForm):
    """A role is built in or the organization's own."""

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        role = given.get("role")
        organization = given.get("organization") or (self.instance.organization if self.instance.pk else None)
        if not self.instance.pk and not given.get("user"):
            self.add_error("user", "Name a person. Who has no account yet is invited through the API.")
        if role and organization and role.organization_id not in (None, organization.pk):
            self.add_error("role", "This role belongs to another organization.")
        return given


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):
    """Who is a member. Invitations are seen here; sending them is the API's, which mails the link."""

    form = MembershipForm
    list_display = ("__str__", "user", "email", "organization", "role", "expires_at", "created_at")
    list_filter = (("user", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("user", "organization", "role")
    search_fields = ("user__email", "user__name", "organization__name", "role__name")
    autocomplete_fields = ("user", "organization", "role")
    show_full_result_count = False
    fields = ("user", "email", "organization", "role", "invited_by", "expires_at", "created_at")
    readonly_fields = ("email", "invited_by", "expires_at", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).defer("token_digest")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Nobody else takes a membership over: it would be theirs with the keys that were made under it."""
        return self.readonly_fields + (("user", "organization") if obj is not None else ())

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An invitation is its sender's word: another role is given by the API, or by sending it anew."""
        return not (obj is not None and obj.user_id is None) and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        if not change and obj.user_id is not None:  # keys of an earlier membership stay dead
            keys.revoke_all(organization_id=obj.organization_id, user_id=obj.user_id)
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        members.end(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for member in queryset:
            members.end(member)


@admin.action(description="Revoke the selected keys", permissions=["revoke"])
def revoke(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
    for key in queryset:
        keys.revoke(key)


@admin.register(ApiKey)
class ApiKeyAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Made through the API or `bootstrap`, which show the key once; here they are seen and revoked."""

    kind = "key"
    list_display = ("name", "kind", "last_four", "organization", "role", "user", "last_used_at", "revoked_at")
    list_filter = ("kind", ("revoked_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("organization", "role", "user")
    search_fields = ("name", "=last_four", "organization__name", "user__email")
    show_full_result_count = False
    ordering = ("-created_at",)
    fields = (
        "public_id", "name", "kind", "last_four", "organization", "role", "user", "networks", "created_at",
        "expires_at", "revoked_at", "last_used_at", "replaced_by",
    )  # fmt: skip
    actions = (revoke,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        return super().get_queryset(request).defer("digest")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("access.change_apikey")


@admin.register(StoredAnswer)
class StoredAnswerAdmin(Record, admin.ModelAdmin):
    """Which requests can be repeated until when; neither their keys nor their answers are shown."""

    list_display = ("route", "organization", "status", "created_at", "expires_at")
    list_filter = ("status", "created_at")
    list_select_related = ("organization",)
    search_fields = ("route", "organization__name")
    show_full_result_count = False
    ordering = ("-created_at",)
    fields = ("route", "organization", "status", "created_at", "expires_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredAnswer]:
        return super().get_queryset(request).defer("answer", "key_digest", "request_digest")


def _built_in(role: Role | None) -> bool:
    return role is not None and role.organization_id is None
