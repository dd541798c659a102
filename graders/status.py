"""The one place that moves a grader's status, with its reason on record; and what the answers to calls mean for it.

A degraded grader has troubles (graders.states.Trouble). Each is added and ended by whoever watches over it: /health and
verification, the circuit, the row of refusals. The end of the last one makes the grader active again.
"""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from autotune.core import ids
from autotune.webhooks.events.outbox import Emitted, emit
from autotune.webhooks.states import EventKind
from graders.models import Grader, GraderStatusChange
from graders.signals import grader_audience
from graders.states import GraderStatus, Trouble

AUTH_FAILURES_UNTIL_DEGRADED: Final = 3
MAX_AUTH_FAILURES: Final = 1_000  # the counter stops here
MAX_REASON: Final = 600
AUTH_REASON: Final = (
    f"The grader refused the platform's signature {AUTH_FAILURES_UNTIL_DEGRADED} times in a row (auth_failed)."
)
AUTH_OVER_REASON: Final = "The grader accepts the platform's signature again."
GONE_REASON: Final = "The grader answered with a signed 410: it is no longer in service."
WORKING: Final = (GraderStatus.ACTIVE, GraderStatus.DEGRADED)


@transaction.atomic
def change(
    grader_id: UUID, to: GraderStatus, reason: str, *, only_from: Collection[GraderStatus] = tuple(GraderStatus)
) -> bool:
    """Move a grader to `to`, record why, and notify those whom it concerns.

    only_from  the statuses that it may come from
    returns    False if nothing moved: it is there already, comes from another status, or was deleted
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
    """Add a cause of trouble; an active grader becomes degraded. True if it was not there before."""
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
    """End a cause of trouble, or several. A degraded grader without any left becomes active, if it is verified.

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
    """Take a grader into service: active, or degraded while it has troubles. Whether it moved."""
    grader = _locked(grader_id)
    if grader is None:
        return False
    return change(grader_id, GraderStatus.DEGRADED if grader.troubles else GraderStatus.ACTIVE, reason)


def note_auth_failure(grader_id: UUID) -> None:
    """A call ended with `auth_failed`. Three in a row make an active grader degraded. Once for each call."""
    with transaction.atomic():
        row = Grader.objects.filter(pk=grader_id)
        row.filter(auth_failures__lt=MAX_AUTH_FAILURES).update(auth_failures=F("auth_failures") + 1)
        if row.filter(auth_failures__gte=AUTH_FAILURES_UNTIL_DEGRADED).exists():
            trouble(grader_id, Trouble.AUTH, AUTH_REASON)


def note_auth_success(grader_id: UUID) -> None:
    """A call's answer verified: the row of failures ends, and so does the trouble that it was.

    One look at the row by its key when there is nothing to do.
    """
    failing = Grader.objects.filter(pk=grader_id, auth_failures__gt=0)
    if not failing.exists():
        return
    with transaction.atomic():
        if failing.update(auth_failures=0):
            recovered(grader_id, Trouble.AUTH, AUTH_OVER_REASON)


def note_gone(grader_id: UUID) -> bool:
    """A signed 410: the grader is inactive until it was verified again. True for the call that found it out."""
    with transaction.atomic():
        fresh = (
            Grader.objects.live()
            .filter(pk=grader_id, gone_at=None)
            .update(gone_at=timezone.now(), verified_at=None, updated_at=timezone.now())
        )
        change(grader_id, GraderStatus.INACTIVE, GONE_REASON)
    return bool(fresh)


def _locked(grader_id: UUID) -> Grader | None:
    """What matters here of a live grader, held until the transaction ends."""
    row = Grader.objects.live().filter(pk=grader_id).select_for_update(no_key=True)
    return row.only("status", "troubles", "verified_at", "organization_id").first()


def build_payload(grader_id: UUID, previous: str, current: str, reason: str | None) -> dict[str, Any]:
    """The payload of the event `grader.status_changed`."""
    return {
        "graderId": ids.encode("grader", grader_id),
        "previousStatus": str(previous),
        "currentStatus": str(current),
        "reason": reason,
    }


def _emit_change(grader: Grader, previous: str, current: str, reason: str) -> None:
    """An event for its owner, and one without the reason for each other organization that higher apps name.

    Only the owner reads the reason: it may quote the grader.
    """
    organization_ids = {grader.organization_id}
    for _, audience in grader_audience.send(sender=Grader, grader_id=grader.pk):
        organization_ids.update(audience or ())  # type: ignore[arg-type]  # the stubs say that receivers return text
    own = grader.organization_id
    emit(
        EventKind.GRADER_STATUS_CHANGED,
        [
            Emitted(
                organization_id,
                grader.pk,
                build_payload(grader.pk, previous, current, reason if organization_id == own else None),
            )
            for organization_id in sorted(organization_ids)
        ],
    )
