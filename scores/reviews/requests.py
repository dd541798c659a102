"""Requests about reviews, and the rules that a type cannot state."""

from typing import Annotated

from msgspec import Meta

from autotune.core.api.operations import BodyStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.errors import Invalid
from scores.results.filters import CompletionRef, GraderRef, TaskRef, Unit
from scores.reviews.decisions import ReviewDecision
from scores.states import ReviewStatus

Explanation = Annotated[str, Meta(max_length=20_000)]


class ReviewQuery(PageQuery):
    """Filters of the list of reviews."""

    task_id: TaskRef | None = None
    grader_id: GraderRef | None = None
    completion_id: CompletionRef | None = None
    status: ReviewStatus | None = None


class DecisionBody(BodyStruct):
    """A decision. `value` (or its alias `adjustedScore`) requires an approval and replaces the preliminary score.

    `rawValue` does the same on the review's `scale`. The approval of a blind review needs one of them.
    """

    approved: bool
    value: Unit | None = None
    adjusted_score: Unit | None = None
    raw_value: float | None = None
    explanation: Explanation | None = None


def decision_of(body: DecisionBody) -> ReviewDecision:
    """Return the decision of a body; raises Invalid for two different values, or for a rejection with a value."""
    value, named = body.value, "value"
    if value is None:
        value, named = body.adjusted_score, "adjustedScore"
    elif body.adjusted_score not in (None, value):
        raise Invalid.field("/adjustedScore", "mutually_exclusive", "It differs from `value`. Send only one of them.")
    if body.raw_value is not None:
        if value is not None:
            raise Invalid.field("/rawValue", "mutually_exclusive", f"Send either `{named}` or `rawValue`.")
        named = "rawValue"
    if not body.approved and (value is not None or body.raw_value is not None):
        raise Invalid.field(f"/{named}", "mutually_exclusive", "A rejection has no value. Remove it, or approve.")
    return ReviewDecision(body.approved, value, body.explanation or None, body.raw_value)
