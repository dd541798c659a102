"""Select the reviews that a caller may read or decide on, for the API and the pages."""

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

ORDER = pagination.SortOrder("reviews", {"createdAt": "id", "expiresAt": "expires_at"})


def readable(principal: Principal) -> ReviewQuerySet:
    """Return the reviews that the principal may read.

    raises Forbidden for roles that read only about their own graders: a review shows other people's prompts
    """
    return _reach(principal, "read").visible_to(principal)


def shown(principal: Principal) -> ReviewQuerySet:
    """Return the reviews for a part of another page; none, instead of Forbidden, for roles that may not read them."""
    if policy.reach(principal, "reviews", "read") in (None, "own"):
        return Review.objects.none()
    return Review.objects.visible_to(principal)


def decidable(principal: Principal) -> ReviewQuerySet:
    """Return the reviews on which the principal may decide; raises Forbidden as `readable` does."""
    return _reach(principal, "update").allowed(principal, "update")


def for_update(principal: Principal, review_id: UUID) -> UUID:
    """Return the review's key if the caller may decide on it; raises NotFound or Forbidden."""
    return find_for(_reach(principal, "update").only("pk"), principal, review_id, "update", "review").pk


def reviewer(principal: Principal) -> Reviewer:
    """Return the principal as a reviewer."""
    administers = policy.reach(principal, "members", "update") is not None
    return Reviewer(principal.user, administers)


def filtered(reviews: ReviewQuerySet, query: ReviewQuery, principal: Principal) -> ReviewQuerySet:
    """Return the reviews that match the filters; raises NotFound with a pointer for an id hidden from the caller."""
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
        raise Forbidden(f"The role {principal.role.label} may not {action} reviews.")
    return Review.objects.all()
