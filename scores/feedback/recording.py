"""Record feedback. Each rater has at most one current judgement of a completion for a grader; older ones are kept."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from scores.feedback.models import Feedback
from scores.models import Review

AT_ONCE: Final = 200  # rows changed by one statement
_Place = tuple[UUID, UUID, UUID]


def of_review(review: Review, *, anchored: bool) -> Feedback:
    """Return the feedback in a decided review: the decided value, or none for a rejection. Stores nothing.

    anchored  the reviewer kept the grader's value
    """
    assert review.decided_by_id is not None
    assert review.decided_at is not None
    return Feedback(
        organization_id=review.organization_id,
        completion_id=review.completion_id,
        grader_id=review.grader_id,
        grader_version_id=review.grader_version_id,
        rater_id=review.decided_by_id,
        review_id=review.pk,
        value=review.decided_value,
        raw_value=review.decided_raw_value,
        explanation=review.explanation,
        blind=review.blind,
        anchored=anchored,
        created_at=review.decided_at,
        updated_at=review.decided_at,
    )


def record(feedback: Sequence[Feedback]) -> None:
    """Store feedback in bulk, in the caller's transaction, which has locked the completions.

    It replaces current feedback of the same rater on the same completion and grader. Of several in `feedback`, the last
    is current.

    raises IntegrityError for a review that has feedback already
    """
    newest: dict[_Place, Feedback] = {}
    for row in feedback:
        if earlier := newest.get(_place(row)):
            earlier.replaced_at = row.created_at
        newest[_place(row)] = row
    _replace(newest)
    Feedback.objects.bulk_create(feedback)


def _replace(newest: dict[_Place, Feedback]) -> None:
    """Mark the stored feedback that these replace."""
    completion_ids = {completion_id for completion_id, _, _ in newest}
    current = Feedback.objects.current().filter(completion_id__in=completion_ids)
    replaced = [row for row in current.defer("explanation") if _place(row) in newest]
    for row in replaced:
        row.replaced_at = newest[_place(row)].created_at
    Feedback.objects.bulk_update(replaced, ["replaced_at"], batch_size=AT_ONCE)


def _place(row: Feedback) -> _Place:
    return row.completion_id, row.grader_id, row.rater_id
