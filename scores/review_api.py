"""The endpoints of reviews."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.access.views import ApiView, find, find_for
from autotune.core import pagination
from autotune.core.api import operation
from autotune.core.errors import Forbidden, NotFound
from graders.models import Grader
from scores import deciding
from scores.deciding import Reviewer
from scores.models import Review
from scores.privacy import Sight
from scores.querysets import ReviewQuerySet
from scores.review_inputs import DecisionBody, ReviewQuery, decision_of
from scores.review_shapes import ReviewAnswer, ReviewPage, detail_out, review_out
from tasks.models import Completion, Task

ORDER = pagination.Order("reviews", {"createdAt": "id", "expiresAt": "expires_at"})


class ReviewsView(ApiView):
    @operation(summary="List reviews", resource="reviews", action="read", query=ReviewQuery, answers={200: ReviewPage})
    def get(self, request: Request, query: ReviewQuery) -> ReviewPage:
        """What waits for a human is `status=open`. Sort by `createdAt` (default `-createdAt`) or `expiresAt`."""
        found = _filtered(_readable(self.principal), query, self.principal)
        rows, page = pagination.page(
            found.defer("reasoning", "explanation"), query, ORDER, owner=self.principal.organization.pk
        )
        return ReviewPage([review_out(row) for row in rows], page)


class ReviewView(ApiView):
    @operation(summary="Read a review", resource="reviews", action="read", answers={200: ReviewAnswer})
    def get(self, request: Request, review_id: UUID) -> ReviewAnswer:
        """With the prompt, the response and the grader's preliminary verdict."""
        found = _readable(self.principal).select_related("completion", "task").defer("completion__metadata")
        return ReviewAnswer(detail_out(find(found, review_id, "review"), Sight.of(self.principal)))


class ReviewClaimView(ApiView):
    @operation(
        summary="Claim a review", resource="reviews", action="update", answers={200: ReviewAnswer}, errors=(409, 410),
        subject="review.completion_id",
    )  # fmt: skip
    def post(self, request: Request, review_id: UUID) -> ReviewAnswer:
        """For 15 minutes nobody else can claim it or decide; claiming it again begins them anew.

        409 `review_claimed` while somebody else has it, `review_closed` once it is decided, expired or cancelled; both
        show the review as it stands under `current`.
        """
        return ReviewAnswer(
            detail_out(
                deciding.claim(_for_update(self.principal, review_id), _reviewer(self.principal)),
                Sight.of(self.principal),
            )
        )


class ReviewDecisionView(ApiView):
    @operation(
        summary="Decide on a review", resource="reviews", action="update", body=DecisionBody,
        answers={200: ReviewAnswer}, errors=(409, 410), subject="review.completion_id",
    )  # fmt: skip
    def post(self, request: Request, review_id: UUID, body: DecisionBody) -> ReviewAnswer:
        """Approved without a value keeps the preliminary score. A value takes its place with confidence 1, and the
        preliminary one stays as a dimension of weight 0. Not approved: the run fails with `review_rejected`.

        Of two who decide at once one wins; the other gets 409 `review_closed` with the review under `current`.
        """
        decision, pk = decision_of(body), _for_update(self.principal, review_id)
        decided = deciding.decide(pk, decision, _reviewer(self.principal))
        return ReviewAnswer(detail_out(decided, Sight.of(self.principal)))


def _readable(principal: Principal) -> ReviewQuerySet:
    return _reach(principal, "read").visible_to(principal)


def _for_update(principal: Principal, review_id: UUID) -> UUID:
    """The review's key, where the caller may decide on it; raises NotFound or Forbidden."""
    return find_for(_reach(principal, "update").only("pk"), principal, review_id, "update", "review").pk


def _reach(principal: Principal, action: str) -> ReviewQuerySet:
    """raises Forbidden for who may see only what becomes of their own graders: a review shows other people's prompts"""
    if policy.reach(principal, "reviews", action) == "own":
        raise Forbidden(f"The role {principal.role.name} may not {action} reviews.")
    return Review.objects.all()


def _reviewer(principal: Principal) -> Reviewer:
    administers = policy.reach(principal, "members", "update") is not None
    return Reviewer(principal.user, administers)


def _filtered(found: ReviewQuerySet, query: ReviewQuery, principal: Principal) -> Any:
    """raises NotFound with a pointer for an id of nothing that the caller may see"""
    for named, column, objects, what in (
        (query.task_id, "task_id", Task.objects, "task"),
        (query.grader_id, "grader_id", Grader.objects, "grader"),
        (query.completion_id, "completion_id", Completion.objects, "completion"),
    ):
        if named is None:
            continue
        of_it = found.filter(**{column: named.uuid})
        if not objects.visible_to(principal).filter(pk=named.uuid).exists() and not of_it.exists():
            raise NotFound.at(f"?{what}Id", what)
        found = of_it
    return found.filter(status=query.status) if query.status else found
