"""The endpoints of reviews."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find
from autotune.core.api import pagination
from autotune.core.api.operations import operation
from scores.results.privacy import Sight
from scores.reviews import access, decisions
from scores.reviews.requests import DecisionBody, ReviewQuery, decision_of
from scores.reviews.responses import ReviewAnswer, ReviewPage, detail_out, review_out


class ReviewsView(ApiView):
    @operation(summary="List reviews", resource="reviews", action="read", query=ReviewQuery, answers={200: ReviewPage})
    def get(self, request: Request, query: ReviewQuery) -> ReviewPage:
        """What waits for a human is `status=open`. Sort by `createdAt` (default `-createdAt`) or `expiresAt`."""
        reviews = access.filtered(access.readable(self.principal), query, self.principal)
        rows, page = pagination.page(
            reviews.defer("reasoning", "explanation"), query, access.ORDER, owner=self.principal.organization.pk
        )
        return ReviewPage([review_out(row) for row in rows], page)


class ReviewView(ApiView):
    @operation(summary="Read a review", resource="reviews", action="read", answers={200: ReviewAnswer})
    def get(self, request: Request, review_id: UUID) -> ReviewAnswer:
        """With the prompt, the response and the grader's preliminary verdict."""
        reviews = access.readable(self.principal).select_related("completion", "task").defer("completion__metadata")
        return ReviewAnswer(detail_out(find(reviews, review_id, "review"), Sight.of(self.principal)))


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
                decisions.claim(access.for_update(self.principal, review_id), access.reviewer(self.principal)),
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
        decision, pk = decision_of(body), access.for_update(self.principal, review_id)
        decided = decisions.decide(pk, decision, access.reviewer(self.principal))
        return ReviewAnswer(detail_out(decided, Sight.of(self.principal)))
