"""What happens on the account pages and has no signal of Django's or django-allauth's; and what we do on theirs."""

from typing import Any

from allauth.account.signals import password_reset
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from allauth.usersessions.internal.flows.sessions import end_other_sessions
from allauth.usersessions.models import UserSession
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from autotune.access.models import User

organization_switched = Signal()  # request, user, organization
invitation_accepted = Signal()  # request, user, membership
sessions_ended = Signal()  # request, user, count


@receiver(authenticator_added, dispatch_uid="end sessions without second factor")
def end_sessions_without_second_factor(
    request: HttpRequest, user: User, authenticator: Authenticator, **_: Any
) -> None:
    """A session that was opened by password alone may be a thief's."""
    if authenticator.type == Authenticator.Type.TOTP:
        end_other_sessions(request, user)


@receiver(password_reset, dispatch_uid="forget sessions after reset")
def forget_sessions_after_reset(request: HttpRequest, user: User, **_: Any) -> None:
    """They are dead already, by the new password; now they are gone."""
    for session in UserSession.objects.filter(user=user):
        session.end()
