"""Invite people by mail.

The reader of the mailbox accepts the invitation (accounts/joining). An invitation does not reveal whether its recipient
has an account.
"""

import hashlib
import secrets
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from autotune.access import policy, querysets
from autotune.access.accounts.mailing import send_soon
from autotune.access.models import Membership, Organization, Role
from autotune.access.principal import Principal
from autotune.access.requests import Invitation
from autotune.access.roles import ceilings
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Rate
from autotune.core.errors import Conflict, Invalid, NotFound, TooManyRequests

VALID: Final = timedelta(days=7)
KEPT: Final = timedelta(days=30)  # after it expired, so that people can see why somebody never joined
MAX_OPEN: Final = 1_000  # for each organization, since each invitation is a mail to somebody
MAILS: Final = Rate(1, 5)  # to one address from one organization: five at once, then one a minute


@transaction.atomic
def invite(principal: Principal, body: Invitation) -> Membership:
    """Invite a person; a repeated invitation replaces the previous link. The mail is sent after the commit.

    raises  Invalid, NotFound for role or organization; BeyondOwnRole; Conflict `already_member`, `too_many_invitations`
    """
    organization = _organization(principal, body)
    email = _email(body.email)
    role = ceilings.role_named(body.role, organization)
    ceilings.require_covered(principal, role.permissions, f"the role {role.label}")
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)  # one at a time: the address is unique
    if Membership.objects.filter(organization=organization, user__email=email).exists():
        raise Conflict("This person is already a member.", code="already_member")
    before = Membership.objects.select_related("role").filter(organization=organization, user=None, email=email).first()
    if before is not None:
        ceilings.require_not_above(principal, before.role, organization, f"their role {before.role.label}")
    else:
        _require_room(organization)
    _require_patience(organization, email)
    token = secrets.token_urlsafe(32)
    invited, _ = Membership.objects.update_or_create(
        organization=organization,
        user=None,
        email=email,
        defaults={
            "role": role,
            "invited_by": principal.user,
            "token_digest": hashlib.sha256(token.encode()).digest(),
            "expires_at": timezone.now() + VALID,
        },
    )
    message = mail(invited, token)
    transaction.on_commit(lambda: send_soon(message), robust=True)
    return invited


def mail(invited: Membership, token: str) -> EmailMessage:
    """Return the mail to the invited person, the only place that contains the token."""
    organization = " ".join(invited.organization.name.split())
    link = f"{settings.PUBLIC_URL.rstrip('/')}{reverse('invitation', args=[token])}"
    by = f"{invited.invited_by.email} invites" if invited.invited_by else "This mail invites"
    text = (
        f"{by} you to {organization} on Autotune, with the role {invited.role.label}.\n\n"
        f"{link}\n\n"
        f"The link is valid for {VALID.days} days, and only for you. If you did not expect this mail, ignore it.\n"
    )
    return EmailMessage(f"Autotune: an invitation to {organization}", text, to=[invited.email])


def is_valid(invited: Membership) -> bool:
    """Return whether its sender could still send it: an invitation gives no rights that its sender has lost."""
    if invited.invited_by_id is None:  # created by the admin site or a command, or the person's account is gone
        return False
    memberships = Membership.objects.select_related("organization", "role", "user").filter(
        user_id=invited.invited_by_id, user__is_active=True, organization__suspended=False
    )
    return any(_may_still(sender, invited) for sender in memberships)


def clean() -> int:
    """Delete invitations that expired more than `KEPT` ago, and return how many."""
    over = Membership.objects.filter(user=None, expires_at__lt=timezone.now() - KEPT)
    return over.delete()[0]


def _may_still(sender: Membership, invited: Membership) -> bool:
    assert sender.user is not None
    principal = Principal(sender.organization, sender.role, sender.user)
    reach = policy.reach(principal, "members", "create")
    here = sender.organization_id == invited.organization_id
    if not (reach == "all" or (here and reach == "organization")):
        return False
    return policy.covers(principal, invited.role.permissions)


def _organization(principal: Principal, body: Invitation) -> Organization:
    """Return the organization to join: the caller's, or the one in the body if the caller may invite into it."""
    if body.organization_id is None or body.organization_id.uuid == principal.organization.pk:
        if policy.reach(principal, "members", "create") == "own":  # `own` would only allow inviting oneself
            raise ceilings.BeyondOwnRole(f"The role {principal.role.label} may not create members.")
        return principal.organization
    return _any_organization(principal, body.organization_id.uuid)


def _any_organization(principal: Principal, pk: UUID) -> Organization:
    every = policy.reach(principal, "members", "create") == "all"
    organization = querysets.organizations().visible_to(principal).filter(pk=pk).first() if every else None
    if organization is None:
        raise NotFound.field("/organizationId", "organization")
    return organization


def _email(text: str) -> str:
    email = text.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise Invalid.field(
            "/email", "invalid_format", "this is not an email address; enter it as name@example.com."
        ) from None
    return email


def _require_patience(organization: Organization, email: str) -> None:
    """Raise TooManyRequests if the mailbox has just received several invitations, so that nobody can flood it."""
    mailbox = hashlib.sha256(email.encode()).hexdigest()[:32]
    allowance = rates.check(f"invitation:{organization.pk}:{mailbox}", MAILS)
    if not allowance.admitted:
        raise TooManyRequests(
            "This person has just received several invitations. Try again later.",
            headers={"Retry-After": str(allowance.retry_after_s)},
        )


def _require_room(organization: Organization) -> None:
    waiting = Membership.objects.filter(organization=organization, user=None, expires_at__gt=timezone.now())
    if waiting.count() >= MAX_OPEN:
        raise Conflict(
            f"{MAX_OPEN} invitations are open, the maximum for an organization. Withdraw some first.",
            code="too_many_invitations",
        )


def change_role(role: Role, invited: Membership, principal: Principal) -> None:
    """Change the role of an invitation, and make the caller its inviter."""
    invited.role, invited.invited_by = role, principal.user
    invited.save(update_fields=["role", "invited_by"])
