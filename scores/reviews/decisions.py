"""Claim a review, decide on it, or let it expire. Each is one transaction.

Each transaction that ends a run locks its completion first, as every save of a panel does. So if two people decide at
once, the first decision counts, and the other person sees what was decided.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from autotune.access.models import User
from autotune.core.clock import database_now
from autotune.core.crypto.fields import is_damaged
from autotune.core.errors import Conflict, Forbidden, Invalid, NotFound
from graders import versions
from graders.scales import ScaleError
from scores.engine import recording, settling, transitions, waits
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import SavedRun
from scores.engine.timeline import appended, entry
from scores.feedback import recording as recorder
from scores.models import Review, Score, WorkflowRun
from scores.results import failure_codes
from scores.reviews import responses
from scores.states import ReviewStatus, RunStatus, WaitKind
from tasks.models import Completion

STEP: Final = "decision"
CLAIM: Final = timedelta(minutes=15)
EXPIRED_AT_ONCE: Final = 200
PRELIMINARY, HUMAN = "ai_preliminary", "human_review"
REJECTED_MESSAGE: Final = "A reviewer rejected the grader's preliminary score."
_EXPIRY: Final = waits.WAITS[WaitKind.REVIEW]
_WAITING = Q(run__status=RunStatus.WAITING, run__waits_for=WaitKind.REVIEW)
_DECIDED = (
    "status", "decided_by", "decided_at", "decided_value", "decided_raw_value", "explanation", "claimed_by",
    "claimed_until",
)  # fmt: skip
_SAVED = ("run_id", "completion_id", "task_id", "organization_id", "run__purpose")


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person who decides. `administers`: may also decide on completions that they submitted themselves.

    Other people may not, so that a second person checks each score. Administrators could change the task's policy
    anyway, and an organization of one person has nobody else.
    """

    user: User
    administers: bool = False


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A reviewer's decision. Without a value, an approval keeps the preliminary score.

    value      from 0 to 1
    raw_value  in place of `value`, on the scale of the grader version
    """

    approved: bool
    value: float | None = None
    explanation: str | None = None
    raw_value: float | None = None

    @property
    def keeps_preliminary(self) -> bool:
        return self.approved and self.value is None and self.raw_value is None


def claim(review_id: UUID, by: Reviewer) -> Review:
    """Claim the review for CLAIM and return it; claiming it again extends the claim.

    raises Conflict `review_closed`, or `review_claimed` if another person holds it; Forbidden for their own completion
    """
    completion_id = _completion_of(review_id)
    with transaction.atomic():
        settling.lock({completion_id})  # so that no erasure runs at the same time
        review = _locked(review_id)
        now = database_now()
        _require_other(review, by)
        _require_open(review, by, now)
        review.claimed_by, review.claimed_until = by.user, now + CLAIM
        review.save(update_fields=["claimed_by", "claimed_until"])
    return review


def decide(review_id: UUID, decision: ReviewDecision, by: Reviewer) -> Review:
    """Decide on the review and return it.

    An approval stores the score and settles the reward; a rejection fails the run. Each writes the reviewer's feedback.
    raises Invalid for a raw value that is not on the scale, or an approval of a blind review without a value;
    Conflict `review_closed` with the current review, or `review_claimed`; Forbidden for their own completion
    """
    completion_id = _completion_of(review_id)
    with transaction.atomic():
        settling.lock({completion_id})
        review = _locked(review_id)
        now = database_now()
        _require_other(review, by)
        _require_open(review, by, now)
        _require_value(review, decision)
        review.decided_by, review.decided_at = by.user, now
        review.explanation = decision.explanation
        review.claimed_by = review.claimed_until = None
        if decision.approved:
            review.status = ReviewStatus.APPROVED
            review.decided_value, review.decided_raw_value = _decided_values(review, decision)
            _complete(review, decision, now)
        else:
            review.status = ReviewStatus.REJECTED
            recording.fail(
                [_saved(review)], failure_codes.REVIEW_REJECTED, REJECTED_MESSAGE, TaskFactsCache(), step=STEP
            )
        review.save(update_fields=_DECIDED)
        recorder.record([recorder.of_review(review, anchored=decision.keeps_preliminary)])
    return review


def expire(now: datetime) -> int:
    """Expire the open reviews whose time is over; their runs fail with `review_expired`. Returns how many."""
    due = Review.objects.filter(status=ReviewStatus.OPEN, expires_at__lte=now)
    completions = set(due.order_by("expires_at").values_list("completion_id", flat=True)[:EXPIRED_AT_ONCE])
    if not completions:
        return 0
    with transaction.atomic():
        settling.lock(completions)
        due = due.filter(completion_id__in=completions)
        waiting = list(due.filter(_WAITING).values_list(*_SAVED))
        expired = due.filter(run__in=[row[0] for row in waiting])
        count = expired.update(status=ReviewStatus.EXPIRED, claimed_by=None, claimed_until=None)
        recording.fail(
            [SavedRun(*row) for row in waiting], _EXPIRY.code, _EXPIRY.message, TaskFactsCache(), step="review"
        )
        due.update(status=ReviewStatus.CANCELLED, claimed_by=None, claimed_until=None)  # their runs ended otherwise
        return count


def _completion_of(review_id: UUID) -> UUID:
    completion_id = Review.objects.filter(pk=review_id).values_list("completion_id", flat=True).first()
    if completion_id is None:
        raise NotFound("There is no such review.")  # retention has just deleted it
    return completion_id


def _locked(review_id: UUID) -> Review:
    rows = Review.objects.select_related("run").select_for_update(of=("self",), no_key=True)
    review = rows.filter(pk=review_id).first()
    if review is None:
        raise NotFound("There is no such review.")
    return review


def _require_other(review: Review, by: Reviewer) -> None:
    """Check that `by` did not submit the completion; raises Forbidden."""
    if not by.administers and Completion.objects.filter(pk=review.completion_id, created_by=by.user).exists():
        detail = "You submitted this completion: somebody else must review its score."
        raise Forbidden(detail, code="own_completion")


def _require_open(review: Review, by: Reviewer, now: datetime) -> None:
    """Check that `by` may decide now; raises Conflict."""
    if (state := _state(review, now)) != ReviewStatus.OPEN:
        detail = f"The review is {state}. A decision is no longer possible."
        raise Conflict(detail, code="review_closed", current=responses.current(review))
    if review.claimed_by_id not in (None, by.user.pk) and review.claimed_until and review.claimed_until > now:
        detail = "Another reviewer has claimed this review. Try again when the claim has ended."
        raise Conflict(detail, code="review_claimed", current=responses.current(review))


def _require_value(review: Review, decision: ReviewDecision) -> None:
    """Check that an approval of a blind review has a value: nobody can confirm a score that they have not seen."""
    if review.blind and decision.keeps_preliminary:
        raise Invalid.field(
            "/value", "required", "This review is blind. To approve, send your own `value` or `rawValue`."
        )


def _state(review: Review, now: datetime) -> str:
    """Return the current state of the review; its end may not be stored yet."""
    if review.status != ReviewStatus.OPEN:
        return review.status
    if review.run.status != RunStatus.WAITING or review.run.waits_for != WaitKind.REVIEW:
        return ReviewStatus.CANCELLED
    return ReviewStatus.EXPIRED if review.expires_at <= now else ReviewStatus.OPEN


def _decided_values(review: Review, decision: ReviewDecision) -> tuple[float, float]:
    """The value and the raw value of an approval; raises Invalid."""
    scale = versions.scale_of(review.grader_version_id)
    if decision.raw_value is not None:
        try:
            return scale.value_of(decision.raw_value), decision.raw_value
        except ScaleError as exc:
            raise Invalid.field("/rawValue", "out_of_range", str(exc)) from exc
    if decision.value is not None:
        return decision.value, scale.raw_of(decision.value)
    return review.value, scale.raw_of(review.value) if review.raw_value is None else review.raw_value


def _complete(review: Review, decision: ReviewDecision, now: datetime) -> None:
    """Complete the run, store its score, and settle its completion's reward."""
    step = entry(STEP, review.run.attempt, "approved" if decision.keeps_preliminary else "adjusted", ended=now)
    transitions.advance(
        review.run,
        RunStatus.COMPLETED,
        completed_at=now,
        wake_at=None,
        waits_for="",
        steps=appended(review.run.steps, step),
    )
    _score(review, decision, now).save(force_insert=True)
    settling.settle({review.completion_id}, TaskFactsCache())


def _score(review: Review, decision: ReviewDecision, now: datetime) -> Score:
    """Return the score of an approval. If the reviewer changed the value, the grader's is a dimension of weight 0, and
    its details are left out: they are about the grader's value."""
    assert review.decided_value is not None  # both are there after an approval
    assert review.decided_raw_value is not None
    confidence, reasoning, details, dimensions = review.confidence, decision.explanation, None, review.dimensions
    if decision.keeps_preliminary:
        reasoning = reasoning or (None if is_damaged(review, "reasoning") else review.reasoning)
        details = None if is_damaged(review, "details") else review.details
    else:
        confidence = 1.0
        dimensions = [_dimension(PRELIMINARY, review.value, 0.0), _dimension(HUMAN, review.decided_value, 1.0)]
    source, held_out = Completion.objects.values_list("source", "held_out").get(pk=review.completion_id)
    return Score(
        source=source,
        held_out=held_out,
        organization_id=review.organization_id,
        run_id=review.run_id,
        completion_id=review.completion_id,
        task_id=review.task_id,
        grader_id=review.grader_id,
        grader_version_id=review.grader_version_id,
        value=review.decided_value,
        confidence=confidence,
        raw_value=review.decided_raw_value,
        reasoning=reasoning,
        details=details,
        dimensions=dimensions,
        reviewed_by=review.decided_by,
        created_at=now,
    )


def _dimension(name: str, value: float, weight: float) -> dict[str, Any]:
    return {"name": name, "value": value, "weight": weight}


def _saved(review: Review) -> SavedRun:
    run: WorkflowRun = review.run
    return SavedRun(run.pk, run.completion_id, run.task_id, run.organization_id, run.purpose)
