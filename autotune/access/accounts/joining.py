"""Accept an invitation: by the token of its link, or by an email address that a trusted provider has verified."""

import hashlib

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from autotune.access.accounts.signals import invitation_accepted
from autotune.access.keys import tokens
from autotune.access.members import invitations
from autotune.access.models import Membership, User


class AccountExists(Exception):
    """An account with this email exists: the person must log in to accept the invitation."""


def find(token: str) -> Membership | None:
    """Return the invitation of a link; None if it was accepted, withdrawn, sent again, or has expired."""
    digest = hashlib.sha256(token.encode()).digest()
    invitation = _open().select_related("organization", "role", "invited_by").filter(token_digest=digest).first()
    return invitation if invitation is not None and invitations.is_valid(invitation) else None


def open_for(email: str) -> list[Membership]:
    """Return the invitations to this email that can be accepted."""
    return [
        invitation
        for invitation in _open().select_related("role").filter(email=email)
        if invitations.is_valid(invitation)
    ]


@transaction.atomic
def take(request: HttpRequest, token: str, user: User) -> Membership | None:
    """Make the invited person a member; None if the invitation has ended or was sent to another email."""
    digest = hashlib.sha256(token.encode()).digest()
    membership = _locked().filter(token_digest=digest, email=user.email).first()
    return _settle(request, membership, user) if membership and invitations.is_valid(membership) else None


@transaction.atomic
def take_all(request: HttpRequest, user: User) -> list[Membership]:
    """Make the person a member of each organization that has invited their email."""
    pending_invitations = [
        invitation
        for invitation in _locked().filter(email=user.email).order_by("pk")
        if invitations.is_valid(invitation)
    ]
    return [_settle(request, membership, user) for membership in pending_invitations]


@transaction.atomic
def arrive(request: HttpRequest, token: str, *, name: str, password: str) -> User | None:
    """Create an account for the invited email and make it a member; None if the invitation has ended.

    raises AccountExists if an account with this email exists
    """
    membership = find(token)
    if membership is None:
        return None
    if User.objects.filter(email=membership.email).exists():
        raise AccountExists
    user = User.objects.create_user(membership.email, password, name=name)
    if take(request, token, user) is None:  # another request accepted or ended it first
        transaction.set_rollback(True)
        return None
    return user


def _open() -> "QuerySet[Membership]":
    return Membership.objects.filter(
        user=None, token_digest__isnull=False, expires_at__gt=timezone.now(), organization__suspended=False
    )


def _locked() -> "QuerySet[Membership]":
    return _open().select_for_update(of=("self",)).select_related("organization", "role")


def _settle(request: HttpRequest, invited: Membership, user: User) -> Membership:
    """Turn the invitation into a membership; if the person is a member already, delete it."""
    membership = Membership.objects.filter(organization_id=invited.organization_id, user=user).first()
    if membership is not None:
        invited.delete()
        return membership
    tokens.revoke_all(organization_id=invited.organization_id, user_id=user.pk)  # of an earlier membership
    invited.user, invited.token_digest, invited.expires_at = user, None, None
    invited.save(update_fields=["user", "token_digest", "expires_at"])
    invitation_accepted.send(sender=Membership, request=request, user=user, membership=invited)
    return invited
