"""Responses about reviews."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.crypto.fields import LegibleRow
from graders import versions
from graders.scales import Scale
from scores.models import Review
from scores.results.privacy import ViewerSight
from scores.results.scores import DimensionOut, ScaleOut, scale_out
from scores.reviews.opening import address
from scores.states import ReviewStatus


class ReviewOut(ApiStruct):
    """A review. `value` is what was decided; `claimedBy` and `decidedBy` are `user_…` ids.

    `preliminaryRawValue` and `rawValue` are the same values on `scale`, the scale of the grader version.
    While a `blind` review is open, the members that begin with `preliminary` are null for everybody.
    """

    id: str
    workflow_run_id: str
    completion_id: str
    task_id: str
    grader_id: str
    grader_version: str
    status: ReviewStatus
    blind: bool
    preliminary_score: float | None
    preliminary_raw_value: float | None
    preliminary_confidence: float | None
    scale: ScaleOut
    claimed_by: str | None
    claimed_until: str | None
    decided_by: str | None
    decided_at: str | None
    value: float | None
    raw_value: float | None
    review_url: str
    expires_at: str
    created_at: str


class ReviewDetailOut(ReviewOut):
    """A review with everything that a reviewer needs to decide.

    `reasoning` and `dimensions` are the grader's. They are null if the grader keeps them private, and while a blind
    review is open. `prompt`, `messages` and `response` are null if the completion's text was erased.
    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    reasoning: str | None
    dimensions: list[DimensionOut] | None
    explanation: str | None
    task_name: str
    model_id: str
    prompt: str | None
    messages: list[dict[str, Any]] | None
    response: str | None
    unreadable: list[str] | UnsetType = UNSET


class ReviewAnswer(ApiStruct):
    review: ReviewDetailOut


class ReviewCurrent(ApiStruct):
    """The current review, in a 409 response to a claim or a decision."""

    review: ReviewOut


class ReviewPage(ApiStruct):
    reviews: list[ReviewOut]
    pagination: Pagination


def reviews_out(reviews: Sequence[Review]) -> list[ReviewOut]:
    """Return reviews without text; makes one query for the scales that are not known yet."""
    scales = versions.scales_of({review.grader_version_id for review in reviews})
    return [ReviewOut(**_members(review, scales[review.grader_version_id])) for review in reviews]


def detail_out(review: Review, sight: ViewerSight) -> ReviewDetailOut:
    """Return a review with the text that this reader may see; reads its completion and task unless they are loaded."""
    completion = review.completion
    sight.judges.meet_those_of([review])
    dimensions: Any = review.dimensions if sight.dimensions(review) and not review.hides_verdict else None
    text, texts = LegibleRow(review), LegibleRow(completion)
    reasoning = text.reasoning if sight.reasoning(review) and not review.hides_verdict else None
    explanation = text.explanation
    prompt, messages, response = texts.prompt, texts.messages, texts.response
    return ReviewDetailOut(
        **_members(review, versions.scale_of(review.grader_version_id)),
        reasoning=reasoning,
        dimensions=None if dimensions is None else [DimensionOut(**dimension) for dimension in dimensions],
        explanation=explanation,
        task_name=review.task.name,
        model_id=completion.model_id,
        prompt=prompt,
        messages=messages,
        response=response,
        unreadable=[*text.unreadable, *texts.unreadable] or UNSET,
    )


def current(review: Review) -> ReviewCurrent:
    """Return the review as a 409 response shows it."""
    return ReviewCurrent(reviews_out([review])[0])


def _members(review: Review, scale: Scale) -> dict[str, Any]:
    return {
        "id": review.public_id,
        "workflow_run_id": ids.encode("run", review.run_id),
        "completion_id": ids.encode("comp", review.completion_id),
        "task_id": ids.encode("task", review.task_id),
        "grader_id": ids.encode("grader", review.grader_id),
        "grader_version": ids.encode("graderv", review.grader_version_id),
        "status": ReviewStatus(review.status),
        "blind": review.blind,
        **_preliminary_members(review, scale),
        "scale": scale_out(scale),
        "claimed_by": ids.encode("user", review.claimed_by_id) if review.claimed_by_id else None,
        "claimed_until": clock.wire(review.claimed_until) if review.claimed_until else None,
        "decided_by": ids.encode("user", review.decided_by_id) if review.decided_by_id else None,
        "decided_at": clock.wire(review.decided_at) if review.decided_at else None,
        "value": review.decided_value,
        "raw_value": review.decided_raw_value,
        "review_url": address(review.pk),
        "expires_at": clock.wire(review.expires_at),
        "created_at": clock.wire(review.created_at),
    }


def _preliminary_members(review: Review, scale: Scale) -> dict[str, float | None]:
    if review.hides_verdict:
        return {"preliminary_score": None, "preliminary_raw_value": None, "preliminary_confidence": None}
    return {
        "preliminary_score": review.value,
        "preliminary_raw_value": scale.raw_of(review.value) if review.raw_value is None else review.raw_value,
        "preliminary_confidence": review.confidence,
    }
