"""The overview's part for reviewers: the oldest open reviews, and how many the reviewer has decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.site.overviews import links
from scores.models import Review
from scores.results.names import ObjectNames
from scores.states import ReviewStatus

SHOWN: Final = 5
DAY: Final = timedelta(days=1)
COLUMNS: Final = (
    "task_id", "grader_id", "status", "blind", "value", "confidence", "created_at", "expires_at", "claimed_by_id",
    "claimed_until",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WaitingReview:
    """One review of the queue. `value` and `confidence` are None while the review is blind."""

    url: str
    task: str
    grader: str
    value: float | None
    confidence: float | None
    since: datetime
    expires: datetime
    claimed: str


@dataclass(frozen=True, slots=True)
class ReviewQueueOverview:
    """The oldest open reviews; how many reviews this person decided in all and in the last day, and claims now."""

    oldest: Sequence[WaitingReview]
    decided: int
    decided_today: int
    claimed: int


def of(principal: Principal, now: datetime) -> ReviewQueueOverview | None:
    """Return the queue; None if the principal decides no reviews, or only those of their own graders."""
    if policy.reach(principal, "reviews", "update") in (None, "own"):
        return None
    reviews = Review.objects.allowed(principal, "update")
    is_open, is_mine = Q(status=ReviewStatus.OPEN), Q(decided_by=principal.user.pk)
    counts = reviews.filter(is_open | is_mine).aggregate(
        decided=Count("pk", filter=is_mine),
        today=Count("pk", filter=is_mine & Q(decided_at__gte=now - DAY)),
        claimed=Count("pk", filter=is_open & Q(claimed_by=principal.user.pk, claimed_until__gt=now)),
    )
    oldest = list(reviews.filter(is_open).order_by("created_at", "pk").only(*COLUMNS)[:SHOWN])
    names = ObjectNames.of_rows(principal, oldest)
    waiting = [
        WaitingReview(
            links.to("review", review_id=review.pk),
            names.task(review.task_id).text, names.grader(review.grader_id).text,
            review.preliminary_value, review.preliminary_confidence, review.created_at, review.expires_at,
            _claim(principal, review.claimed_by_id, review.claimed_until, now),
        )
        for review in oldest
    ]  # fmt: skip
    return ReviewQueueOverview(waiting, counts["decided"], counts["today"], counts["claimed"])


def _claim(principal: Principal, who: object, until: datetime | None, now: datetime) -> str:
    if who is None or until is None or until <= now:
        return ""
    return "yours" if who == principal.user.pk else "claimed"
