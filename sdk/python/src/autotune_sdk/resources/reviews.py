"""Reviews: scores that wait for a person's decision because their grader's confidence was too low."""

from __future__ import annotations

from collections.abc import Iterator

from .. import _wire
from ..models.pages import Page
from ..models.reviews import Review
from ._base import Resource, member, new_key, segment, wire_members

PAGE = 500


class Reviews(Resource):
    """`client.reviews`."""

    def list(
        self,
        *,
        task_id: str | None = None,
        grader_id: str | None = None,
        completion_id: str | None = None,
        status: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Review]:
        """Return one page of reviews, without their text. Reviews that wait for a decision have the status 'open'."""
        parameters = {
            "task_id": task_id,
            "grader_id": grader_id,
            "completion_id": completion_id,
            "status": status,
            "sort": sort,
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
        }
        return self._page("/reviews", "reviews", Review, parameters)

    def iterate(
        self, *, task_id: str | None = None, grader_id: str | None = None, status: str | None = None
    ) -> Iterator[Review]:
        """Iterate over all reviews of a selection, page by page (by cursor), the newest first."""
        yield from self.list(task_id=task_id, grader_id=grader_id, status=status, limit=PAGE)

    def get(self, review_id: str) -> Review:
        """Return one review with the information for a decision: prompt, response, the grader's reasoning."""
        return _wire.decode(Review, member(self._transport.get(f"/reviews/{segment(review_id)}"), "review"))

    def claim(self, review_id: str) -> Review:
        """Reserve a review for 15 minutes, so others cannot decide. Raises ConflictError while somebody else has it."""
        answer = self._transport.post(f"/reviews/{segment(review_id)}/claim", b"{}", safe=True)
        return _wire.decode(Review, member(answer, "review"))

    def decide(
        self,
        review_id: str,
        *,
        approved: bool,
        value: float | None = None,
        raw_value: float | None = None,
        explanation: str | None = None,
        idempotency_key: str | None = None,
    ) -> Review:
        """Approve the preliminary score, replace it with a `value`, or reject it, so that the run fails.

        raw_value  in place of `value`, on the review's `scale`
        raises     ConflictError once somebody else has decided, or the review has expired
        """
        members = {"approved": approved, "value": value, "raw_value": raw_value, "explanation": explanation}
        body = wire_members(members)
        answer = self._transport.post(
            f"/reviews/{segment(review_id)}/decision", _wire.dumps(body), idempotency_key=idempotency_key or new_key()
        )
        return _wire.decode(Review, member(answer, "review"))
