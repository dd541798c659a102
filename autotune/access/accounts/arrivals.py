"""Decide who may log in by single sign-on: a known subject, or an email that the provider has verified."""

from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.signals import social_account_added
from django.db import transaction
from django.http import HttpRequest

from autotune.access.accounts import joining
from autotune.access.models import User

UNCONFIRMED = "unconfirmed"
UNINVITED = "uninvited"
INACTIVE = "inactive"


@transaction.atomic
def settle(request: HttpRequest, login: SocialLogin) -> str:
    """Find or create the person of a login, link them to its subject, and accept the invitations to their email.

    Returns the reason why the login is refused, or ''.
    """
    email = verified_email(login)
    user = User.objects.get(pk=login.user.pk) if login.is_existing else None
    if user is None:
        if email is None:
            return UNCONFIRMED
        user = User.objects.filter(email=email).first()
        if user is None and not joining.open_for(email):
            return UNINVITED
        user = user or User.objects.create_user(email, None, name=login.user.name)
        if user.is_active:
            _link(request, login, user)
    if not user.is_active:
        return INACTIVE
    if email == user.email:
        joining.take_all(request, user)
    return ""


def verified_email(login: SocialLogin) -> str | None:
    """Return the first email that the provider has verified, in lower case."""
    return next((entry.email.strip().lower() for entry in login.email_addresses if entry.verified), None)


def _link(request: HttpRequest, login: SocialLogin, user: User) -> None:
    """Link the subject to the person. This does not write the person's row, which another request may be changing."""
    login.account, _ = SocialAccount.objects.get_or_create(
        provider=login.account.provider, uid=login.account.uid, defaults={"user": user}
    )
    login.user = user
    social_account_added.send(sender=SocialLogin, request=request, sociallogin=login)
