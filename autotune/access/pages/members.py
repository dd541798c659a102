"""Pages that list members and invitations, change a member's role, and remove a member."""

from typing import Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy, querysets, responses
from autotune.access.frame import acting, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.members import membership
from autotune.access.members.api import ORDER
from autotune.access.models import ApiKey, Membership
from autotune.access.pages import invitations, role_choices
from autotune.access.principal import Principal
from autotune.access.requests import MemberPatch, MemberQuery
from autotune.access.views import find_for
from autotune.core.api.pagination import page as cut
from autotune.core.errors import AutotuneError, Forbidden, NotFound
from autotune.core.pages import listing
from autotune.core.pages.forms import BodyForm

WHAT = "member"
STATES: Final = (("active", "members"), ("invited", "invited"))


class MemberRoleForm(BodyForm):
    role = forms.ChoiceField(label="Role", help_text="You can give only roles with no more rights than your own.")


@page(("members", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List members and invitations, with the form to invite a person."""
    principal = request.principal
    list_request = listing.read(request, MemberQuery)
    members = querysets.members().visible_to(principal)
    if list_request.query.organization_id is not None:
        members = members.filter(organization_id=list_request.query.organization_id.uuid)
    if list_request.query.status is not None:
        members = members.filter(user__isnull=list_request.query.status == "invited")
    rows, pagination = cut(members, list_request.query, ORDER, owner=principal.organization.pk)
    may_invite = policy.reach(principal, "members", "create") in ("organization", "all")
    context = {
        "title": "Members",
        "crumbs": places.crumbs(),
        "rows": [_row(principal, row) for row in rows],
        "asked": list_request,
        "states": STATES,
        "pager": listing.pager(pagination, len(rows)),
        "invite": invitations.InviteForm(principal) if may_invite else None,
        "everywhere": policy.reach(principal, "members", "read") == "all",
    }
    return render(request, "access/members/list.html", context)


@page(("members", "read"), methods=("GET", "HEAD", "POST"))
def show_member(request: PageRequest, member_id: UUID) -> HttpResponseBase:
    """Show a member with the form for another role and the button to remove them."""
    principal = request.principal
    member = find_member(principal, member_id, "read" if request.method != "POST" else "update")
    form = role_form(principal, member, request.POST or None)
    if request.method == "POST":
        acting.concerns("members", "update", member.public_id, fields=["role"])
        if form is None:
            raise Forbidden("You cannot change your own role. Ask another administrator.", code="own_role")
        if form.is_valid():
            try:
                role = str(form.body(MemberPatch).role)
                toast = f"The role of {_address(member)} is changed."
                acting.do(request, lambda: membership.change_role(principal, member.pk, role), toast=toast)
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                return redirect("member", member_id)
    context = {
        **_row(principal, member),
        "title": (member.user.name or member.user.email) if member.user else member.email,
        "crumbs": places.crumbs(("Members", reverse("members"))),
        "form": form,
        "is_self": member.user_id == principal.user.pk,
        "may_remove": policy_allows(principal, member, "delete"),
        "may_invite": member.user is None and policy.reach(principal, "members", "create") in ("organization", "all"),
        "keys": _working_keys(member),
        "invited_by": people.EmailAddresses(principal, [member.invited_by_id]).of(member.invited_by_id),
    }
    return render(request, "access/members/member.html", context, status=400 if form and form.errors else 200)


@page(("members", "delete"), methods=("POST",))
def remove(request: PageRequest, member_id: UUID) -> HttpResponseBase:
    """Remove a member, withdraw an invitation, or leave the organization."""
    principal = request.principal
    member = find_member(principal, member_id, "delete")
    acting.concerns("members", "delete", member.public_id)
    if not acting.attempt(request, lambda: membership.remove(principal, member.pk)):
        return redirect("member", member_id)
    if member.user_id == principal.user.pk:
        messages.success(request, f"You have left {member.organization.name[:80]}.")
        return redirect("account")
    gone = "was removed. Their keys are revoked." if member.user else "can no longer accept the invitation."
    messages.success(request, f"{_address(member)} {gone}")
    return redirect("members")


def find_member(principal: Principal, member_id: UUID, action: str) -> Membership:
    """Return the member with this id. Raises NotFound and Forbidden, as the API does."""
    pk = Membership.objects.filter(uid=member_id).values_list("pk", flat=True).first()
    if pk is None:
        raise NotFound("There is no such member.")
    return find_for(querysets.members(), principal, pk, action, WHAT)  # type: ignore[arg-type]


def role_form(principal: Principal, member: Membership, data: object = None) -> MemberRoleForm | None:
    """Return the form for another role; None if the principal may not change this member."""
    if member.user_id == principal.user.pk or not policy_allows(principal, member, "update"):
        return None
    form = MemberRoleForm(data, initial={"role": responses.member_out(member).role_id})
    form.fields["role"].choices = role_choices.given_by(  # type: ignore[attr-defined]
        principal, member.organization, current=member.role
    )
    return form


def policy_allows(principal: Principal, member: Membership, action: str) -> bool:
    return querysets.members().allowed(principal, action).filter(pk=member.pk).exists()


def _row(principal: Principal, member: Membership) -> dict[str, object]:
    return {
        "out": responses.member_out(member),
        "member": member,
        "is_self": member.user_id is not None and member.user_id == principal.user.pk,
    }


def _working_keys(member: Membership) -> int:
    """Return how many keys a removal of the member would revoke."""
    if member.user_id is None:
        return 0
    return ApiKey.objects.filter(
        organization_id=member.organization_id, user_id=member.user_id, revoked_at=None
    ).count()


def _address(member: Membership) -> str:
    return member.user.email if member.user else member.email
