"""Pages to invite a person, and to send an invitation again."""

from typing import Any
from uuid import UUID

from django import forms
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy, querysets, responses
from autotune.access.frame import acting, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.members import invitations
from autotune.access.models import Organization
from autotune.access.pages import role_choices
from autotune.access.principal import Principal
from autotune.access.requests import Invitation, OrganizationId
from autotune.core import ids
from autotune.core.errors import AutotuneError, NotFound
from autotune.core.pages.forms import BodyForm

FIELDS = ("email", "role")


class InviteForm(BodyForm):
    email = forms.CharField(max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"}), label="Email")
    role = forms.ChoiceField(label="Role")

    def __init__(self, principal: Principal, *args: Any, into: Organization | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.into = into or principal.organization
        choices = role_choices.given_by(principal, self.into)
        self.fields["role"].choices = [role_choices.NONE, *choices]  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        return {**super().values(), "organizationId": ids.encode("org", self.into.pk)}


@page(("members", "create"), methods=("GET", "HEAD", "POST"))
def invite(request: PageRequest) -> HttpResponseBase:
    """Invite a person by mail; with the scope `all`, also into another organization."""
    principal = request.principal
    into = _organization(principal, request.POST.get("into") or request.GET.get("into") or "")
    form = InviteForm(principal, request.POST or None, into=into)
    acting.concerns("members", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(Invitation)
            toast = (
                f"Autotune sends an invitation to {body.email[:100]}. It is valid for {invitations.VALID.days} days."
            )
            invitation = acting.do(request, lambda: invitations.invite(principal, body), toast=toast)
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("members", "create", invitation.public_id, fields=FIELDS)
            return redirect("members")
    context = {
        "title": "Invite a person",
        "crumbs": places.crumbs(("Members", reverse("members"))),
        "form": form,
        "into": into,
        "into_id": ids.encode("org", into.pk),
        "foreign": into.pk != principal.organization.pk,
        "days": invitations.VALID.days,
    }
    return render(request, "access/members/invite.html", context, status=400 if form.errors else 200)


@page(("members", "create"), methods=("POST",))
def again(request: PageRequest, member_id: UUID) -> HttpResponseBase:
    """Send an invitation again with a new link, which ends the previous one."""
    principal = request.principal
    invited = querysets.members().visible_to(principal).filter(uid=member_id, user=None).first()
    if invited is None:
        raise NotFound("There is no such invitation.")
    acting.concerns("members", "create", invited.public_id, fields=FIELDS)
    body = Invitation(
        email=invited.email,
        role=responses.member_out(invited).role_id,
        organization_id=OrganizationId(invited.organization_id),
    )
    toast = f"Autotune sends a new invitation to {invited.email}. The previous link no longer works."
    acting.attempt(request, lambda: invitations.invite(principal, body), toast=toast)
    return redirect("members")


def _organization(principal: Principal, text: str) -> Organization:
    """Return the organization with this public id, or raise NotFound if the person cannot invite into it."""
    if not text:
        return principal.organization
    try:
        pk = ids.decode("org", text)
    except ValueError:
        raise NotFound("There is no such organization.") from None
    if pk == principal.organization.pk:
        return principal.organization
    every = policy.reach(principal, "members", "create") == "all"
    organization = querysets.organizations().visible_to(principal).filter(pk=pk).first() if every else None
    if organization is None:
        raise NotFound("There is no such organization.")
    return organization
