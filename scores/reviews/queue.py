"""The review queue of one person: claim the next review, list the reviews that they hold, and count what is left.

Every claim is that of scores/reviews/decisions.py, in a transaction of its own. If two people claim the same review at
once, one gets it, and the other gets the next one.
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
class ReviewQueueCounts:
    """The counts of the review queue for one person.

    today   reviews that they decided since midnight UTC
    left    open reviews that they may decide on, including those that others hold
    own     open reviews of completions that they submitted: somebody else must decide
    others  those of `left` that somebody else holds now
    """

    today: int
    left: int
    own: int
    others: int


def claim_next(
    reviews: ReviewQuerySet, by: Reviewer, *, after: UUID | None = None, besides: Collection[UUID] = ()
) -> Review | None:
    """Claim the oldest review that nobody holds; None if there is none. Opens no transaction around the search.

    after    start behind this review and end with the older ones, so that skipped reviews come last
    besides  reviews that are never claimed
    """
    free = _free(reviews, by, database_now()).exclude(pk__in=list(besides)).order_by("pk")
    for part in [free] if after is None else [free.filter(pk__gt=after), free.filter(pk__lte=after)]:
        rest = part
        while pks := list(rest.values_list("pk", flat=True)[:TRIED_AT_ONCE]):
            for pk in pks:
                with suppress(Conflict, NotFound, Forbidden):  # somebody was first, or it has just ended
                    return decisions.claim(pk, by)
            rest = part.filter(pk__gt=pks[-1])
    return None


def claimed_by(reviews: ReviewQuerySet, by: Reviewer) -> ReviewQuerySet:
    """Return the reviews that the person holds now, the earliest claim first."""
    now = database_now()
    return _open(reviews, now).filter(claimed_by=by.user, claimed_until__gt=now).order_by("claimed_until", "pk")


def release(review_id: UUID, by: Reviewer) -> bool:
    """Release a review that the person holds. False if they no longer hold it."""
    claimed_review = Review.objects.filter(pk=review_id, status=ReviewStatus.OPEN, claimed_by=by.user)
    return bool(claimed_review.update(claimed_by=None, claimed_until=None))


def count_decidable(reviews: ReviewQuerySet, by: Reviewer) -> int:
    """Count the open reviews on which the person may decide."""
    return _not_own(_open(reviews, database_now()), by).count()


def progress(reviews: ReviewQuerySet, by: Reviewer) -> ReviewQueueCounts:
    """Count the open reviews, and those that the person decided today."""
    now = database_now()
    own = Q(pk=None) if by.administers else Q(completion__created_by=by.user)
    claimed_by_others = Q(claimed_until__gt=now) & ~Q(claimed_by=by.user)
    waiting = _open(reviews, now).aggregate(
        left=Count("pk", filter=~own), own=Count("pk", filter=own), others=Count("pk", filter=~own & claimed_by_others)
    )
    midnight = datetime.combine(now.date(), time(), now.tzinfo)
    oldest = ids.first_of(midnight - timedelta(days=settings.REVIEW_DAYS + 1))  # those decided today are no older
    today = reviews.filter(pk__gte=oldest, status__in=DECIDED, decided_by=by.user, decided_at__gte=midnight).count()
    return ReviewQueueCounts(today, **waiting)


def _free(reviews: ReviewQuerySet, by: Reviewer, now: datetime) -> ReviewQuerySet:
    unclaimed = Q(claimed_by=None) | Q(claimed_until=None) | Q(claimed_until__lte=now)
    return _not_own(_open(reviews, now).filter(unclaimed), by)


def _open(reviews: ReviewQuerySet, now: datetime) -> ReviewQuerySet:
    return reviews.filter(status=ReviewStatus.OPEN, expires_at__gt=now)


def _not_own(reviews: ReviewQuerySet, by: Reviewer) -> ReviewQuerySet:
    return reviews if by.administers else reviews.exclude(completion__created_by=by.user)
