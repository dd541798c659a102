"""What a reviewer has before them: the oldest open reviews, and what they have done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Q

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.site.overviews import links
from scores.models import Review
from scores.states import ReviewStatus

SHOWN: Final = 5
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Waiting:
    """One review of the queue."""

    url: str
    task: str
    grader: str
    value: float
    confidence: float
    since: datetime
    expires: datetime
    claimed: str


@dataclass(frozen=True, slots=True)
class Queue:
    """The oldest ones; how many this person decided in all and in the last day, and has claimed now."""

    oldest: Sequence[Waiting]
    decided: int
    decided_today: int
    claimed: int


def of(principal: Principal, now: datetime) -> Queue | None:
    """None for who decides no reviews."""
    if policy.reach(principal, "reviews", "update") is None:
        return None
    reviews = Review.objects.allowed(principal, "update")
    is_open, mine = Q(status=ReviewStatus.OPEN), Q(decided_by=principal.user.pk)
    counts = reviews.filter(is_open | mine).aggregate(
        decided=Count("pk", filter=mine),
        today=Count("pk", filter=mine & Q(decided_at__gte=now - DAY)),
        claimed=Count("pk", filter=is_open & Q(claimed_by=principal.user.pk, claimed_until__gt=now)),
    )
    oldest = reviews.filter(is_open).order_by("created_at", "pk")
    columns = (
        "pk", "task__name", "grader__name", "value", "confidence", "created_at", "expires_at", "claimed_by",
        "claimed_until",
    )  # fmt: skip
    shown = [
        Waiting(
            links.to("review", review_id=pk), task, grader, value, confidence, since, expires,
            _claim(principal, who, until, now),
        )
        for pk, task, grader, value, confidence, since, expires, who, until in oldest.values_list(*columns)[:SHOWN]
    ]  # fmt: skip
    return Queue(shown, counts["decided"], counts["today"], counts["claimed"])


def _claim(principal: Principal, who: object, until: datetime | None, now: datetime) -> str:
    if who is None or until is None or until <= now:
        return ""
    return "yours" if who == principal.user.pk else "claimed"
