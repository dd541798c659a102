"""One review as pages show it: its text, the grader's verdict, and the reason for the review."""

from typing import Any

from django.utils import timezone

from autotune.access.frame.entry import PageRequest
from autotune.core import ids, markdown
from autotune.core.markdown import RenderedText
from scores.models import Review
from scores.results.names import ObjectNames
from scores.results.privacy import ViewerSight
from scores.reviews import access, queue
from scores.reviews.pages.forms import ReviewDecisionForm, people
from scores.reviews.responses import detail_out
from scores.states import ReviewStatus
from tasks.models import Completion


def context(request: PageRequest, review: Review, form: ReviewDecisionForm | None = None) -> dict[str, Any]:
    """Return the context of `reviews/_item.html`."""
    principal, by = request.principal, access.reviewer(request.principal)
    names = ObjectNames.of_rows(principal, [review])
    now = timezone.now()
    is_claimed = review.claimed_by_id is not None and review.claimed_until is not None and review.claimed_until > now
    is_open = review.status == ReviewStatus.OPEN and review.expires_at > now
    person_names = people(principal, [review])
    out = detail_out(review, ViewerSight.of(principal))
    raw = markdown.is_raw(request.GET)
    is_submitter = review.completion.created_by_id == principal.user.pk
    return {
        "review": review,
        "out": out,
        "hidden": review.hides_verdict,
        "has_reasoning": review.__dict__.get("reasoning") is not None,  # as stored: it may be unreadable
        # Reviewers need the whole response, however long it is.
        "response": None if out.response is None else _response(out.response, raw=raw),
        "raw": raw,
        "task": names.task(review.task_id),
        "grader": names.grader(review.grader_id),
        "threshold": review.task.review_below_confidence,
        "decision": form or ReviewDecisionForm(),
        "open": is_open,
        "claimant": person_names.get(review.claimed_by_id, "") if is_claimed and review.claimed_by_id else "",
        "mine": is_claimed and review.claimed_by_id == principal.user.pk,
        "decider": person_names.get(review.decided_by_id, "") if review.decided_by_id else "",
        "own": is_submitter and not by.administers,
        "completion_seen": Completion.objects.visible_to(principal).filter(pk=review.completion_id).exists(),
        "person": ids.encode("user", principal.user.pk),
    }


def _response(text: str, *, raw: bool) -> RenderedText:
    return markdown.plain(text, limit=len(text)) if raw else markdown.answer(text, limit=len(text), heading=4)


def progress(request: PageRequest) -> queue.ReviewQueueCounts:
    """Return the counts of the review queue for the reader."""
    return queue.progress(access.decidable(request.principal), access.reviewer(request.principal))
