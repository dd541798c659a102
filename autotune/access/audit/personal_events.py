"""Record what people do to their accounts and on the admin site.

That is logging in and out, passwords, second factors, invitations, and changes on the admin site. The event is written
before the act is final; if that fails, the act is not done.
"""

import json
from typing import Any, Final
from uuid import UUID

from allauth.account import signals as account
from allauth.mfa import signals as mfa
from axes.signals import user_locked_out
from django.contrib.admin.models import ADDITION, DELETION, LogEntry
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_save
from django.dispatch import Signal

from autotune.access.accounts import signals as accounts
from autotune.access.audit import current_call, trail
from autotune.access.audit.current_call import AuditedCall
from autotune.access.audit.event_organizations import home_of
from autotune.access.models import Membership, Organization, User
from autotune.core import ids

UNKNOWN_LOGIN: Final = "unknown"
ACTS: Final[tuple[tuple[Signal, str], ...]] = (
    (user_logged_in, "session.login"),
    (user_logged_out, "session.logout"),
    (account.password_changed, "password.update"),
    (account.password_set, "password.update"),
    (account.password_reset, "password.reset"),
    (mfa.authenticator_added, "second_factor.create"),
    (mfa.authenticator_removed, "second_factor.delete"),
    (mfa.authenticator_reset, "second_factor.update"),
    (accounts.sessions_ended, "session.end_others"),
)
_receivers: list[Any] = []  # signals hold them weakly


def connect() -> None:
    """Connect the receivers of all signals; called once, when the apps are ready."""
    for signal, action in ACTS:
        _listen(signal, _receiver(action))
    _listen(accounts.organization_switched, _organization_switched)
    _listen(accounts.invitation_accepted, _invitation_accepted)
    _listen(user_login_failed, _login_failed)
    _listen(user_locked_out, _locked_out)
    _listen(post_save, _administered, sender=LogEntry)


def _listen(signal: Signal, receiver: Any, **more: Any) -> None:
    _receivers.append(receiver)
    signal.connect(receiver, **more)


def _receiver(action: str) -> Any:
    def done(sender: Any, *, request: Any = None, user: Any = None, count: int | None = None, **_: Any) -> None:
        call = current_call.current()
        if call is None or not isinstance(user, User):  # a logout of nobody
            return
        if count is not None:
            call.objects_count = count
        _did(call, action, user, organization_id=home_of(user, call.request))

    return done


def _organization_switched(sender: Any, *, user: User, organization: Organization, **_: Any) -> None:
    if (call := current_call.current()) is not None:
        call.object_id = ids.encode("org", organization.pk)
        _did(call, "session.switch_organization", user, organization_id=organization.pk)


def _invitation_accepted(sender: Any, *, user: User, membership: Membership, **_: Any) -> None:
    """Record the acceptance as the request's event, even if a login follows in the same request."""
    if (call := current_call.current()) is not None:
        call.object_id = membership.public_id
        _did(call, "members.accept", user, organization_id=membership.organization_id)


def _did(call: AuditedCall, action: str, user: User, *, organization_id: UUID | None) -> None:
    """Write the event now. A request has one event, for what was done first; the rest follows from it.

    raises  Unavailable if it cannot be written
    """
    if call.acted:
        return
    call.acted, call.action, call.resource, call.user = True, action, action.partition(".")[0], user
    call.organization_id = call.organization_id or organization_id
    trail.opened(call)


def _login_failed(sender: Any, *, credentials: dict[str, Any], **_: Any) -> None:
    """Record the login name only if such a person exists: any other text may be a password."""
    call = current_call.current()
    if call is None or call.acted:
        return
    login_name = next((credentials[name] for name in ("email", "username", "login") if credentials.get(name)), "")
    user = User.objects.filter(email=str(login_name).strip().lower()[:254]).first()
    call.action, call.resource = "session.login", "session"
    call.actor = user.email if user else UNKNOWN_LOGIN
    call.object_id = ids.encode("user", user.pk) if user else ""


def _locked_out(sender: Any, **_: Any) -> None:
    if (call := current_call.current()) is not None and not call.acted:
        call.action, call.resource = "session.login", "session"


def _administered(sender: Any, *, instance: LogEntry, **_: Any) -> None:
    """Copy an act's object and the names of the changed fields from the admin site's log, in the act's transaction."""
    call = current_call.current()
    if call is None or call.event is None:
        return
    verb = {ADDITION: "create", DELETION: "delete"}.get(instance.action_flag, "update")
    call.acted, call.action, call.fields = True, f"admin.{verb}", _changed(instance.change_message)
    call.object_id = _id_of(instance)
    trail.closed(call, 302)


def _changed(message: str) -> list[str] | None:
    """Return the names of the changed fields. The rest of the message may quote an object, and is dropped."""
    try:
        parts = json.loads(message)
    except ValueError:
        return None
    if not isinstance(parts, list):
        return None
    return sorted({str(name) for part in parts for act in part.values() for name in act.get("fields", ())}) or None


def _id_of(entry: LogEntry) -> str:
    from django.contrib import admin

    from autotune.access.audit import request_subjects

    model = entry.content_type.model_class() if entry.content_type else None
    return request_subjects.row_id(admin.site._registry.get(model), entry.object_id) if model else ""
