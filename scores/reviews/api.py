"""API endpoints of reviews: list, read, claim and decide."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find
from autotune.core.api import pagination
from autotune.core.api.operations import operation
from scores.results.privacy import ViewerSight
from scores.reviews import access, decisions
from scores.reviews.requests import DecisionBody, ReviewQuery, decision_of
from scores.reviews.responses import ReviewAnswer, ReviewPage, detail_out, reviews_out


class ReviewsView(ApiView):
    @operation(summary="List reviews", resource="reviews", action="read", query=ReviewQuery, answers={200: ReviewPage})
    def get(self, request: Request, query: ReviewQuery) -> ReviewPage:
        """Open reviews wait for a person (`status=open`). Sort by `createdAt` (default `-createdAt`) or `expiresAt`."""
        reviews = access.filtered(access.readable(self.principal), query, self.principal)
        reviews = reviews.defer("reasoning", "details", "explanation")
        rows, page = pagination.page(reviews, query, access.ORDER, owner=self.principal.organization.pk)
        return ReviewPage(reviews_out(rows), page)


class ReviewView(ApiView):
    @operation(summary="Read a review", resource="reviews", action="read", answers={200: ReviewAnswer})
    def get(self, request: Request, review_id: UUID) -> ReviewAnswer:
        """Includes the prompt, the response and the grader's preliminary verdict."""
        reviews = access.readable(self.principal).select_related("completion", "task")
        reviews = reviews.defer("details", "completion__metadata")
        return ReviewAnswer(detail_out(find(reviews, review_id, "review"), ViewerSight.of(self.principal)))


class ReviewClaimView(ApiView):
    @operation(
        summary="Claim a review", resource="reviews", action="update", answers={200: ReviewAnswer}, errors=(409, 410),
        subject="review.completion_id",
    )  # fmt: skip
    def post(self, request: Request, review_id: UUID) -> ReviewAnswer:
        """For 15 minutes nobody else can claim the review or decide on it. Claiming it again restarts the 15 minutes.

        409 `review_claimed`: another reviewer holds it. 409 `review_closed`: it is decided, expired or cancelled. Both
        responses have the current review under `current`.
        """
        return ReviewAnswer(
            detail_out(
                decisions.claim(access.for_update(self.principal, review_id), access.reviewer(self.principal)),
                ViewerSight.of(self.principal),
            )
        )


class ReviewDecisionView(ApiView):
    @operation(
        summary="Decide on a review", resource="reviews", action="update", body=DecisionBody,
        answers={200: ReviewAnswer}, errors=(409, 410), subject="review.completion_id",
    )  # fmt: skip
    def post(self, request: Request, review_id: UUID, body: DecisionBody) -> ReviewAnswer:
        """An approval without a value keeps the preliminary score. A value replaces it with confidence 1, and the
        preliminary score becomes a dimension of weight 0. After a rejection the run fails with `review_rejected`.

        If two people decide at once, the first decision counts. The other person gets 409 `review_closed` with the
        review under `current`.
        """
        decision, pk = decision_of(body), access.for_update(self.principal, review_id)
        decided = decisions.decide(pk, decision, access.reviewer(self.principal))
        return ReviewAnswer(detail_out(decided, ViewerSight.of(self.principal)))
