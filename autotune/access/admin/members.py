"""Admin pages of memberships and invitations."""

from types import MappingProxyType
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.access.admin.filters import OrganizationFilter
from autotune.access.keys import tokens
from autotune.access.members import membership
from autotune.access.models import Membership
from autotune.core.admin.base import PublicIdSearchMixin
from autotune.core.admin.cells import badge, linked, moment
from autotune.core.admin.inlines import NewestRowsInline


class MembersInline(NewestRowsInline):
    """The newest memberships of an organization or a person."""

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


class MembershipForm(forms.ModelForm):
    """Check that the role is a built-in one or belongs to the organization."""

    def clean(self) -> dict[str, Any]:
        cleaned_data = super().clean() or self.cleaned_data
        role = cleaned_data.get("role")
        organization = cleaned_data.get("organization") or (self.instance.organization if self.instance.pk else None)
        if not self.instance.pk and not cleaned_data.get("user"):
            self.add_error("user", "Choose a person. Invite people without an account on the Members page.")
        if role and organization and role.organization_id not in (None, organization.pk):
            self.add_error("role", "This role belongs to another organization.")
        return cleaned_data


@admin.register(Membership)
class MembershipAdmin(PublicIdSearchMixin, admin.ModelAdmin):
    """View and change memberships. Invitations are read-only here: the API and the pages send them."""

    form = MembershipForm
    finds = MappingProxyType({"member": "uid", "org": "organization_id", "user": "user_id", "role": "role_id"})
    list_display = (
        "person", "current_state", linked("organization", order="organization__name"),
        linked("role", order="role__name"), moment("expires_at"), moment("created_at"),
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
    def current_state(self, member: Membership) -> SafeString:
        if member.user_id is not None:
            return badge("active", "member")
        over = member.expires_at is not None and member.expires_at < timezone.now()
        return badge("expired", "invitation expired") if over else badge("pending", "invited")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Keep the person of a membership fixed, since another person would take over the keys created under it."""
        return self.readonly_fields + (("user", "organization") if obj is not None else ())

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep invitations read-only: an invitation acts in its sender's name, so they must send another role."""
        return not (obj is not None and obj.user_id is None) and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        if not change and obj.user_id is not None:  # keys of an earlier membership stay dead
            tokens.revoke_all(organization_id=obj.organization_id, user_id=obj.user_id)
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        membership.end(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for member in queryset:
            membership.end(member)
