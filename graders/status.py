"""The one place that moves a grader's status, with its reason on record; and what the answers to calls mean for it."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from graders.models import Grader, GraderStatusChange
from graders.states import GraderStatus

AUTH_FAILURES_UNTIL_DEGRADED: Final = 3
MAX_AUTH_FAILURES: Final = 1_000  # the counter stops here
MAX_REASON: Final = 600
AUTH_REASON: Final = (
    f"The grader refused the platform's signature {AUTH_FAILURES_UNTIL_DEGRADED} times in a row (auth_failed)."
)
AUTH_OVER_REASON: Final = "The grader accepts the platform's signature again."
GONE_REASON: Final = "The grader answered with a signed 410: it is no longer in service."


@transaction.atomic
def change(
    grader_id: UUID, to: GraderStatus, reason: str, *, only_from: Collection[GraderStatus] = tuple(GraderStatus)
) -> bool:
    """Move a grader to `to` and record why.

    only_from  the statuses that it may come from
    returns    False if nothing moved: it is there already, comes from another status, or was deleted
    """
    live = Grader.objects.live().filter(pk=grader_id)
    previous = live.select_for_update(no_key=True).values_list("status", flat=True).first()
    if previous is None or previous == to or previous not in only_from:
        return False
    live.update(status=to, updated_at=timezone.now())
    GraderStatusChange.objects.create(
        grader_id=grader_id, previous=previous, current=to, reason=reason[:MAX_REASON], at=timezone.now()
    )
    return True


def note_auth_failure(grader_id: UUID) -> None:
    """A call ended with `auth_failed`. Three in a row make an active grader degraded. Once for each call."""
    with transaction.atomic():
        row = Grader.objects.filter(pk=grader_id)
        row.filter(auth_failures__lt=MAX_AUTH_FAILURES).update(auth_failures=F("auth_failures") + 1)
        if row.filter(auth_failures__gte=AUTH_FAILURES_UNTIL_DEGRADED, status=GraderStatus.ACTIVE).exists():
            change(grader_id, GraderStatus.DEGRADED, AUTH_REASON, only_from=[GraderStatus.ACTIVE])


def note_auth_success(grader_id: UUID) -> None:
    """A call's answer verified: the row of failures ends, and so does a degradation that came of it alone.

    One look at the row by its key when there is nothing to do.
    """
    failing = Grader.objects.filter(pk=grader_id, auth_failures__gt=0)
    if not failing.exists():
        return
    with transaction.atomic():
        if failing.update(auth_failures=0) and _degraded_by_auth(grader_id):
            change(grader_id, GraderStatus.ACTIVE, AUTH_OVER_REASON, only_from=[GraderStatus.DEGRADED])


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


def _degraded_by_auth(grader_id: UUID) -> bool:
    last = GraderStatusChange.objects.filter(grader_id=grader_id).order_by("-id").values_list("reason", flat=True)
    return last.first() == AUTH_REASON
