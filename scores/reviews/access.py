"""Who may see reviews and decide on them: the rules of the API and of the pages."""

from typing import Any
from uuid import UUID

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.access.views import find_for
from autotune.core.api import pagination
from autotune.core.errors import Forbidden, NotFound
from graders.models import Grader
from scores.models import Review
from scores.querysets import ReviewQuerySet
from scores.reviews.decisions import Reviewer
from scores.reviews.requests import ReviewQuery
from tasks.models import Completion, Task

ORDER = pagination.Order("reviews", {"createdAt": "id", "expiresAt": "expires_at"})


def readable(principal: Principal) -> ReviewQuerySet:
    """raises Forbidden for who may see only what becomes of their own graders: a review shows other people's prompts"""
    return _reach(principal, "read").visible_to(principal)


def shown(principal: Principal) -> ReviewQuerySet:
    """The same for a page on which reviews are one part: none for who may not read them."""
    if policy.reach(principal, "reviews", "read") in (None, "own"):
        return Review.objects.none()
    return Review.objects.visible_to(principal)


def decidable(principal: Principal) -> ReviewQuerySet:
    """The reviews on which the principal may decide; raises Forbidden as `readable`."""
    return _reach(principal, "update").allowed(principal, "update")


def for_update(principal: Principal, review_id: UUID) -> UUID:
    """The review's key, where the caller may decide on it; raises NotFound or Forbidden."""
    return find_for(_reach(principal, "update").only("pk"), principal, review_id, "update", "review").pk


def reviewer(principal: Principal) -> Reviewer:
    """The principal as one who decides."""
    administers = policy.reach(principal, "members", "update") is not None
    return Reviewer(principal.user, administers)


def filtered(reviews: ReviewQuerySet, query: ReviewQuery, principal: Principal) -> ReviewQuerySet:
    """The reviews that match the filters; raises NotFound with a pointer for an id that the caller cannot see."""
    references: tuple[tuple[Any, str, Any, str], ...] = (
        (query.task_id, "task_id", Task.objects, "task"),
        (query.grader_id, "grader_id", Grader.objects, "grader"),
        (query.completion_id, "completion_id", Completion.objects, "completion"),
    )
    for reference, column, objects, what in references:
        if reference is None:
            continue
        matching = reviews.filter(**{column: reference.uuid})
        if not objects.visible_to(principal).filter(pk=reference.uuid).exists() and not matching.exists():
            raise NotFound.field(f"?{what}Id", what)
        reviews = matching
    return reviews.filter(status=query.status) if query.status else reviews


def _reach(principal: Principal, action: str) -> ReviewQuerySet:
    if policy.reach(principal, "reviews", action) == "own":
        raise Forbidden(f"The role {principal.role.name} may not {action} reviews.")
    return Review.objects.all()
