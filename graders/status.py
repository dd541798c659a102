"""Change a grader's status and record the reason. No other module writes the status.

A degraded grader has troubles (graders.states.Trouble). The code that watches for a trouble adds and ends it: health
checks, verification, the circuit, the count of rejected signatures. When the last trouble ends, the grader is active
again.
"""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from autotune.core import ids
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.states import EventKind
from graders.models import Grader, GraderStatusChange
from graders.signals import grader_audience
from graders.states import GraderStatus, Trouble

AUTH_FAILURES_UNTIL_DEGRADED: Final = 3
MAX_AUTH_FAILURES: Final = 1_000  # the counter stops here
MAX_REASON: Final = 600
AUTH_REASON: Final = (
    f"The grader rejected the platform's signature {AUTH_FAILURES_UNTIL_DEGRADED} times in a row (auth_failed)."
)
AUTH_OVER_REASON: Final = "The grader accepts the platform's signature again."
GONE_REASON: Final = "The grader answered with a signed 410: it is no longer in service."
WORKING: Final = (GraderStatus.ACTIVE, GraderStatus.DEGRADED)


@transaction.atomic
def change(
    grader_id: UUID, to: GraderStatus, reason: str, *, only_from: Collection[GraderStatus] = tuple(GraderStatus)
) -> bool:
    """Change a grader's status to `to`, record the reason, and notify the organizations that the change concerns.

    only_from  the statuses that may change
    returns    False if nothing changed: it has the status already, has a status not in `only_from`, or was deleted
    """
    grader = _locked(grader_id)
    if grader is None or grader.status == to or grader.status not in only_from:
        return False
    previous = grader.status
    Grader.objects.filter(pk=grader_id).update(status=to, updated_at=timezone.now())
    GraderStatusChange.objects.create(
        grader=grader, previous=previous, current=to, reason=reason[:MAX_REASON], at=timezone.now()
    )
    _emit_change(grader, previous, to, reason[:MAX_REASON])
    return True


@transaction.atomic
def trouble(grader_id: UUID, cause: Trouble, reason: str) -> bool:
    """Add a trouble; an active grader becomes degraded. Return True if the grader did not have it before."""
    grader = _locked(grader_id)
    if grader is None:
        return False
    fresh = cause not in grader.troubles
    if fresh:
        Grader.objects.filter(pk=grader_id).update(troubles=[*grader.troubles, cause])
    change(grader_id, GraderStatus.DEGRADED, reason, only_from=[GraderStatus.ACTIVE])
    return fresh


@transaction.atomic
def recovered(grader_id: UUID, cause: Trouble | Collection[Trouble], reason: str) -> bool:
    """End one or several troubles. A verified, degraded grader with no troubles left becomes active.

    returns  whether anything changed
    """
    grader = _locked(grader_id)
    if grader is None:
        return False
    ended_causes = {cause} if isinstance(cause, Trouble) else set(cause)
    remaining = [name for name in grader.troubles if name not in ended_causes]
    has_ended = remaining != grader.troubles
    if has_ended:
        Grader.objects.filter(pk=grader_id).update(troubles=remaining)
    if remaining or grader.verified_at is None:
        return has_ended
    return change(grader_id, GraderStatus.ACTIVE, reason, only_from=[GraderStatus.DEGRADED]) or has_ended


@transaction.atomic
def admit(grader_id: UUID, reason: str) -> bool:
    """Make a grader active, or degraded while it has troubles; return whether its status changed."""
    grader = _locked(grader_id)
    if grader is None:
        return False
    return change(grader_id, GraderStatus.DEGRADED if grader.troubles else GraderStatus.ACTIVE, reason)


def note_auth_failure(grader_id: UUID) -> None:
    """Record, once for each call, that it ended with `auth_failed`. Three in a row make an active grader degraded."""
    with transaction.atomic():
        row = Grader.objects.filter(pk=grader_id)
        row.filter(auth_failures__lt=MAX_AUTH_FAILURES).update(auth_failures=F("auth_failures") + 1)
        if row.filter(auth_failures__gte=AUTH_FAILURES_UNTIL_DEGRADED).exists():
            trouble(grader_id, Trouble.AUTH, AUTH_REASON)


def note_auth_success(grader_id: UUID) -> None:
    """Record that an answer has a valid signature: reset the count of auth failures and end the trouble `auth`.

    If there is nothing to do, this costs one query by the primary key.
    """
    failing = Grader.objects.filter(pk=grader_id, auth_failures__gt=0)
    if not failing.exists():
        return
    with transaction.atomic():
        if failing.update(auth_failures=0):
            recovered(grader_id, Trouble.AUTH, AUTH_OVER_REASON)


def note_gone(grader_id: UUID) -> bool:
    """Make a grader that answered a signed 410 inactive until it is verified again; return True the first time."""
    with transaction.atomic():
        fresh = (
            Grader.objects.live()
            .filter(pk=grader_id, gone_at=None)
            .update(gone_at=timezone.now(), verified_at=None, updated_at=timezone.now())
        )
        change(grader_id, GraderStatus.INACTIVE, GONE_REASON)
    return bool(fresh)


def _locked(grader_id: UUID) -> Grader | None:
    """Return the columns that this module needs of a live grader, its row locked until the transaction ends."""
    row = Grader.objects.live().filter(pk=grader_id).select_for_update(no_key=True)
    return row.only("status", "troubles", "verified_at", "organization_id").first()


def build_payload(grader_id: UUID, previous: str, current: str, reason: str | None) -> dict[str, Any]:
    """Return the payload of the event `grader.status_changed`."""
    return {
        "graderId": ids.encode("grader", grader_id),
        "previousStatus": str(previous),
        "currentStatus": str(current),
        "reason": reason,
    }


def _emit_change(grader: Grader, previous: str, current: str, reason: str) -> None:
    """Emit an event for the owner's organization, and one without the reason for each that higher apps name.

    Only the owner's organization reads the reason, because it may quote the grader.
    """
    organization_ids = {grader.organization_id}
    for _, audience in grader_audience.send(sender=Grader, grader_id=grader.pk):
        organization_ids.update(audience or ())  # type: ignore[arg-type]  # the stubs say that receivers return text
    own = grader.organization_id
    emit(
        EventKind.GRADER_STATUS_CHANGED,
        [
            EmittedEvent(
                organization_id,
                grader.pk,
                build_payload(grader.pk, previous, current, reason if organization_id == own else None),
            )
            for organization_id in sorted(organization_ids)
        ],
    )
