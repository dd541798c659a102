"""The queue of reviews as a sitting works through it: the next one for a person, what they hold, and how much is left.

Every claim is that of scores/reviews/decisions.py, a transaction of its own: of two who reach for the same review one
gets it, and the other goes on to the one behind it.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q

from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.errors import Conflict, Forbidden, NotFound
from scores.models import Review
from scores.querysets import ReviewQuerySet
from scores.reviews import decisions
from scores.reviews.decisions import Reviewer
from scores.states import ReviewStatus

TRIED_AT_ONCE: Final = 20
DECIDED: Final = (ReviewStatus.APPROVED, ReviewStatus.REJECTED)


@dataclass(frozen=True, slots=True)
class Progress:
    """How a queue stands for one person.

    today   they decided since midnight UTC
    left    open ones that they may decide on, those that others hold included
    own     open ones of completions that they submitted: somebody else must decide
    others  of `left`, held by somebody else now
    """

    today: int
    left: int
    own: int
    others: int


def claim_next(
    found: ReviewQuerySet, by: Reviewer, *, after: UUID | None = None, besides: Collection[UUID] = ()
) -> Review | None:
    """The oldest review that nobody holds, now theirs; None if there is none. Holds no transaction around it.

    after    begin behind this one, and come round to the oldest at the end: what was skipped is last
    besides  never these
    """
    free = _free(found, by, database_now()).exclude(pk__in=list(besides)).order_by("pk")
    for part in [free] if after is None else [free.filter(pk__gt=after), free.filter(pk__lte=after)]:
        rest = part
        while pks := list(rest.values_list("pk", flat=True)[:TRIED_AT_ONCE]):
            for pk in pks:
                with suppress(Conflict, NotFound, Forbidden):  # somebody was first, or it has just ended
                    return decisions.claim(pk, by)
            rest = part.filter(pk__gt=pks[-1])
    return None


def held_by(found: ReviewQuerySet, by: Reviewer) -> ReviewQuerySet:
    """What the person holds now, the one that they took first before the others."""
    now = database_now()
    return _open(found, now).filter(claimed_by=by.user, claimed_until__gt=now).order_by("claimed_until", "pk")


def release(review_id: UUID, by: Reviewer) -> bool:
    """Let others have a review that the person holds. False if they do not hold it any more."""
    held = Review.objects.filter(pk=review_id, status=ReviewStatus.OPEN, claimed_by=by.user)
    return bool(held.update(claimed_by=None, claimed_until=None))


def left(found: ReviewQuerySet, by: Reviewer) -> int:
    """How many open ones there are on which the person may decide."""
    return _not_own(_open(found, database_now()), by).count()


def progress(found: ReviewQuerySet, by: Reviewer) -> Progress:
    """Counts of what is open, and of one person's day."""
    now = database_now()
    own = Q(pk=None) if by.administers else Q(completion__created_by=by.user)
    held = Q(claimed_until__gt=now) & ~Q(claimed_by=by.user)
    waiting = _open(found, now).aggregate(
        left=Count("pk", filter=~own), own=Count("pk", filter=own), others=Count("pk", filter=~own & held)
    )
    midnight = datetime.combine(now.date(), time(), now.tzinfo)
    oldest = ids.first_of(midnight - timedelta(days=settings.REVIEW_DAYS + 1))  # those decided today are no older
    today = found.filter(pk__gte=oldest, status__in=DECIDED, decided_by=by.user, decided_at__gte=midnight).count()
    return Progress(today, **waiting)


def _free(found: ReviewQuerySet, by: Reviewer, now: datetime) -> ReviewQuerySet:
    nobody = Q(claimed_by=None) | Q(claimed_until=None) | Q(claimed_until__lte=now)
    return _not_own(_open(found, now).filter(nobody), by)


def _open(found: ReviewQuerySet, now: datetime) -> ReviewQuerySet:
    return found.filter(status=ReviewStatus.OPEN, expires_at__gt=now)


def _not_own(found: ReviewQuerySet, by: Reviewer) -> ReviewQuerySet:
    return found if by.administers else found.exclude(completion__created_by=by.user)
