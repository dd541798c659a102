"""Admin pages of organizations, people, roles and keys."""

from types import MappingProxyType
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from autotune.access import keys, members, roles
from autotune.access import throttle_admin as throttle_admin  # registers its page
from autotune.access.accounts import admin as accounts_admin  # noqa: F401 - registers its pages
from autotune.access.audit import admin as audit_admin  # noqa: F401 - registers its pages
from autotune.access.models import ApiKey, Membership, Organization, Role, StoredAnswer, User
from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record
from autotune.core.admin_actions import confirmed, each
from autotune.core.admin_cells import badge, linked, moment
from autotune.core.admin_inlines import Newest, ShowsInlines
from autotune.core.admin_lists import Growing, Made, named
from autotune.core.errors import Conflict

admin.site.unregister(Group)  # what people may do is in roles


OrganizationFilter = named(Organization, "org")


class MembersInline(Newest):
    """Who belongs to the organization, or where the person belongs: the newest."""

    model = Membership
    verbose_name_plural = "newest members"
    fields: ClassVar[Any] = (linked("user"), linked("role"), linked("invited_by"), "expires_at", "created_at")
    related = ("user", "role", "organization", "invited_by")
    hidden = ("token_digest",)
    fk_name = "organization"


class MembershipsInline(MembersInline):
    verbose_name_plural = "memberships"
    fields = (linked("organization"), linked("role"), "created_at")
    fk_name = "user"


class KeysInline(Newest):
    """The newest keys of an organization or a person; of each its last four characters."""

    model = ApiKey
    verbose_name_plural = "newest API keys"
    fields = ("key_state", "kind", linked("role"), linked("user"), "last_used_at", "created_at")
    related = ("role", "user")
    hidden = ("digest",)
    ordering = ("-created_at",)

    @admin.display(description="state")
    def key_state(self, key: ApiKey) -> SafeString:
        return _key_badge(key)


@admin.register(Organization)
class OrganizationAdmin(ShowsInlines, PublicIdSearch, admin.ModelAdmin):
    """Named and suspended here; which one operates the installation is settled when it is made."""

    kind = "org"
    list_display = ("name", "standing", "members", "texts_kept", "scores_kept", "created_at")
    list_filter = ("operating", "suspended", "created_at")
    search_fields = ("name",)
    search_help_text = "A part of a name, or an id (org_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("name",)
    fieldsets = (
        (None, {"fields": ("public_id", "name", "operating", "suspended", "created_at")}),
        ("Kept for (days; empty: for good)", {"fields": (("text_days", "score_days"),)}),
        ("What is theirs", {"fields": ("theirs",)}),
    )
    readonly_fields = ("public_id", "operating", "created_at", "theirs")
    inlines = (MembersInline, KeysInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organization]:
        return (
            super().get_queryset(request).annotate(people=Count("membership", filter=Q(membership__user__isnull=False)))
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="id")
    def public_id(self, organization: Organization) -> str:
        return ids.encode("org", organization.pk)

    @admin.display(description="state", ordering="suspended")
    def standing(self, organization: Organization) -> SafeString:
        if organization.suspended:
            return badge("suspended")
        return badge("busy", "operates this installation") if organization.operating else badge("active")

    @admin.display(ordering="people")
    def members(self, organization: Any) -> int:
        return int(organization.people)

    @admin.display(description="texts kept", ordering="text_days")
    def texts_kept(self, organization: Organization) -> str:
        return _days(organization.text_days)

    @admin.display(description="scores kept", ordering="score_days")
    def scores_kept(self, organization: Organization) -> str:
        return _days(organization.score_days)

    @admin.display(description="lists")
    def theirs(self, organization: Organization) -> SafeString:
        """Lists of other apps, by name: this app knows none of them."""
        wanted = (
            ("members", "access_membership"), ("keys", "access_apikey"), ("graders", "graders_grader"),
            ("tasks", "tasks_task"), ("completions", "tasks_completion"), ("runs", "scores_workflowrun"),
            ("exports", "exports_export"), ("webhooks", "webhooks_webhook"), ("audit trail", "access_auditevent"),
        )  # fmt: skip
        public_id = self.public_id(organization)
        links = ((f"{reverse(f'admin:{page}_changelist')}?organization={public_id}", text) for text, page in wanted)
        return format_html_join(" · ", '<a href="{}">{}</a>', links)


class UserAddForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("email", "name")


class UserForm(UserChangeForm):
    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserAdmin(ShowsInlines, PublicIdSearch, BaseUserAdmin):
    """People log in by email. They are deactivated, not deleted: what they made keeps naming them."""

    kind = "user"
    form = UserForm
    add_form = UserAddForm
    list_display = ("email", "name", "standing", "powers_held", moment("last_login", "last login"), "created_at")
    list_filter = ("is_active", "is_staff", "is_superuser", "created_at")
    search_fields = ("email", "name")
    search_help_text = "A part of an email or a name, or an id (user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("email",)
    inlines = (MembershipsInline, KeysInline)
    fieldsets = (
        (None, {"fields": ("public_id", "email", "name", "password")}),
        ("Admin site", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Times", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("email", "name", "usable_password", "password1", "password2")}),
    )
    readonly_fields = ("public_id", "last_login", "created_at")
    powers = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only a superuser gives powers."""
        return self.readonly_fields + (() if request.user.is_superuser else self.powers)

    @admin.display(description="id")
    def public_id(self, user: User) -> str:
        return ids.encode("user", user.pk)

    @admin.display(description="state", ordering="is_active")
    def standing(self, user: User) -> SafeString:
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
class MembershipAdmin(PublicIdSearch, admin.ModelAdmin):
    """Who is a member. Invitations are seen here; sending them is the API's, which mails the link."""

    form = MembershipForm
    finds = MappingProxyType({"member": "uid", "org": "organization_id", "user": "user_id", "role": "role_id"})
    list_display = (
        "person", "standing", linked("organization", order="organization__name"), linked("role", order="role__name"),
        moment("expires_at"), moment("created_at"),
    )  # fmt: skip
    list_filter = (("user", admin.EmptyFieldListFilter), OrganizationFilter, "created_at")
    list_select_related = ("user", "organization", "role", "invited_by")
    search_fields = ("user__email", "user__name", "email", "organization__name", "role__name")
    search_help_text = "A part of an email, name, organization or role, or an id (member_…, org_…, user_… or role_…)"
    autocomplete_fields = ("user", "organization", "role")
    ordering = ("-id",)
    date_hierarchy = "created_at"
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("user", "organization", "role", "created_at")}),
        ("Invitation", {"fields": ("email", "invited_by", "expires_at")}),
    )
    readonly_fields = ("email", "invited_by", "expires_at", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related(*self.list_select_related).defer("token_digest")

    @admin.display(ordering="user__email")
    def person(self, member: Membership) -> str:
        return str(member.user or member.email)

    @admin.display(description="state", ordering="user")
    def standing(self, member: Membership) -> SafeString:
        if member.user_id is not None:
            return badge("active", "member")
        over = member.expires_at is not None and member.expires_at < timezone.now()
        return badge("expired", "invitation expired") if over else badge("pending", "invited")

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
@confirmed(
    "Revoke these API keys?",
    warning="Whoever uses one of them is refused from now on. A revoked key never works again.",
    button="Revoke the keys",
)
def revoke(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
    each(model_admin, request, queryset, _revoke, "revoked")


def _revoke(key: ApiKey) -> None:
    if key.revoked_at is not None:
        raise Conflict("It was revoked before.", code="revoked")
    keys.revoke(key)


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
class ApiKeyAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Made through the API or `bootstrap`, which show the key once; here they are seen and revoked."""

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


@admin.register(StoredAnswer)
class StoredAnswerAdmin(Growing, PublicIdSearch, Record, admin.ModelAdmin):
    """Which requests can be repeated until when; neither their keys nor their answers are shown."""

    finds = MappingProxyType({"org": "organization_id"})
    list_display = ("route", linked("organization"), "answered", moment("created_at"), moment("expires_at"))
    list_filter = (OrganizationFilter, Made)
    list_select_related = ("organization",)
    search_fields = ("route",)
    search_help_text = "A part of a method and path, or an organization's id (org_…)"
    fields = ("route", "organization", "answered", "created_at", "expires_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredAnswer]:
        return super().get_queryset(request).defer("answer", "key_digest", "request_digest")

    @admin.display(description="status")
    def answered(self, row: StoredAnswer) -> SafeString:
        return badge("completed" if row.status < 400 else "failed", str(row.status))


def _built_in(role: Role | None) -> bool:
    return role is not None and role.organization_id is None


def _days(days: int | None) -> str:
    return "for good" if days is None else f"{days:,} days"


def _key_badge(key: ApiKey) -> SafeString:
    if key.revoked_at is not None:
        return badge("revoked")
    return badge("expired") if key.expires_at is not None and key.expires_at <= timezone.now() else badge("active")
