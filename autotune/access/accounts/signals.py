"""Signals of the account pages that Django and django-allauth lack, and our receivers of theirs."""

from typing import Any

from allauth.account.signals import password_changed, password_reset
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import pre_delete
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from autotune.access.accounts import secrets, sessions
from autotune.access.audit import trail
from autotune.access.models import User, WebSession

organization_switched = Signal()  # request, user, organization
invitation_accepted = Signal()  # request, user, membership
sessions_ended = Signal()  # request, user, count


@receiver(authenticator_added, dispatch_uid="end sessions without second factor")
def end_sessions_without_second_factor(
    request: HttpRequest, user: User, authenticator: Authenticator, **_: Any
) -> None:
    """End a person's other sessions: one opened with only a password may belong to a thief."""
    if authenticator.type == Authenticator.Type.TOTP:
        sessions.others(request, user).delete()


@receiver(user_logged_in, dispatch_uid="note where a session was opened")
def note_where_a_session_was_opened(request: HttpRequest, **_: Any) -> None:
    if hasattr(request, "session"):  # a login by Django's test client may have none
        sessions.opened(request, trail.address_of(request) or "")


@receiver(password_changed, dispatch_uid="forget sessions after change")
def forget_sessions_after_change(request: HttpRequest, user: User, **_: Any) -> None:
    """Delete a person's other sessions, which the new password has already invalidated."""
    sessions.others(request, user).delete()


@receiver(password_reset, dispatch_uid="forget sessions after reset")
def forget_sessions_after_reset(request: HttpRequest, user: User, **_: Any) -> None:
    """Delete all sessions of a person, since setting a password by a mailed link does not log them in."""
    WebSession.objects.filter(user=user).delete()


@receiver(pre_delete, sender=Authenticator, dispatch_uid="forget secrets of a second factor")
def forget_secrets(instance: Authenticator, **_: Any) -> None:
    secrets.forget(instance.data)
