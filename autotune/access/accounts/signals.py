"""What happens on the account pages and has no signal of Django's or django-allauth's; and what we do on theirs."""

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
    """A session that was opened by password alone may be a thief's."""
    if authenticator.type == Authenticator.Type.TOTP:
        sessions.others(request, user).delete()


@receiver(user_logged_in, dispatch_uid="note where a session was opened")
def note_where_a_session_was_opened(request: HttpRequest, **_: Any) -> None:
    if hasattr(request, "session"):  # a test's own login has none of a browser's
        sessions.opened(request, trail.address_of(request) or "")


@receiver(password_changed, dispatch_uid="forget sessions after change")
def forget_sessions_after_change(request: HttpRequest, user: User, **_: Any) -> None:
    """They are dead already, by the new password; now they are gone."""
    sessions.others(request, user).delete()


@receiver(password_reset, dispatch_uid="forget sessions after reset")
def forget_sessions_after_reset(request: HttpRequest, user: User, **_: Any) -> None:
    """The same; who set a password by a mail's link is not logged in by it."""
    WebSession.objects.filter(user=user).delete()


@receiver(pre_delete, sender=Authenticator, dispatch_uid="forget secrets of a second factor")
def forget_secrets(instance: Authenticator, **_: Any) -> None:
    secrets.forget(instance.data)
