"""Open and cancel reviews: a run waits for a person if its grader's confidence is below the limit of its task.

The transaction that saves a verdict opens the review and stores the verdict in it. Then the run waits, and only a
decision completes it (scores/reviews/decisions.py). A second answer of the grader is dropped, since the run waits.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from autotune.core import ids
from autotune.core.clock import database_now
from autotune.webhooks.events import outbox
from autotune.webhooks.events.outbox import EmittedEvent
from autotune.webhooks.states import EventKind
from graders.verdicts import Verdict
from scores.engine import timeline, transitions, waits
from scores.engine.call_results import JudgedRun
from scores.engine.materials import TaskFactsCache
from scores.models import Review, WorkflowRun
from scores.states import ReviewStatus, RunStatus, WaitKind

STEP: Final = "review"
# After a late answer the run keeps the status `waiting`, now for a person: the table of transitions has no such entry.
_OPEN_TO_REVIEW = Q(status__in=transitions.sources(RunStatus.WAITING)) | Q(
    status=RunStatus.WAITING, waits_for__in=waits.ANSWERABLE
)


def open(entries: Sequence[JudgedRun], grader_id: UUID, grader_version_id: UUID, facts: TaskFactsCache) -> set[UUID]:
    """Open a review for each run, with its verdict as the preliminary one, inside the caller's transaction.

    The first verdict on a run counts. Returns the runs that wait now; skips runs that have a verdict or are final.
    """
    judged: dict[UUID, JudgedRun] = {}
    for entry in entries:
        judged.setdefault(entry.run.run_id, entry)
    runs = _locked(judged)
    if not runs:
        return set()
    cancel(run.pk for run in runs)  # of an earlier attempt whose end did not cancel it: one open review per run
    now = database_now()
    expires = now + waits.limit(WaitKind.REVIEW)
    _wait([(run, judged[run.pk]) for run in runs], now, expires)
    reviews = [_review(run, judged[run.pk].verdict, grader_id, grader_version_id, now, expires) for run in runs]
    for review in reviews:
        review.blind = facts.task(review.task_id).review_blind
    Review.objects.bulk_create(reviews)
    outbox.emit(
        EventKind.REVIEW_REQUESTED, [EmittedEvent(row.organization_id, row.pk, requested(row)) for row in reviews]
    )
    return {run.pk for run in runs}


def cancel(run_ids: Iterable[UUID]) -> int:
    """Cancel open reviews of runs that ended otherwise, in the transaction that ended them. Returns how many."""
    return Review.objects.filter(run_id__in=set(run_ids), status=ReviewStatus.OPEN).update(
        status=ReviewStatus.CANCELLED, claimed_by=None, claimed_until=None
    )


def address(review_id: UUID) -> str:
    """Return the address of the page on which a person decides."""
    return f"{settings.PUBLIC_URL}/reviews/{ids.encode('rev', review_id)}"


def requested(review: Review) -> dict[str, Any]:
    """Return the payload of the event `review.requested`."""
    return {
        "reviewId": review.public_id,
        "completionId": ids.encode("comp", review.completion_id),
        "preliminaryScore": review.preliminary_value,
        "reviewUrl": address(review.pk),
    }


def _locked(run_ids: Iterable[UUID]) -> list[WorkflowRun]:
    """Lock the runs that have no verdict yet, in id order as every save locks them."""
    runs = WorkflowRun.objects.filter(_OPEN_TO_REVIEW, pk__in=list(run_ids)).order_by("pk")
    return list(runs.select_for_update(no_key=True))


def _wait(runs: Sequence[tuple[WorkflowRun, JudgedRun]], now: datetime, expires: datetime) -> None:
    for run, entry in runs:
        opened = timeline.entry(STEP, run.attempt, "requested", started=now, wake_at=expires)
        run.status, run.waits_for, run.wake_at, run.leased_until = (
            RunStatus.WAITING, WaitKind.REVIEW, expires, None,
        )  # fmt: skip
        run.error_code, run.error_message, run.error_repeats = "", "", 0
        run.steps = timeline.appended(run.steps, *([entry.step] if entry.step else ()), opened)
    changed = ["status", "waits_for", "wake_at", "leased_until", "error_code", "error_message", "error_repeats"]
    WorkflowRun.objects.bulk_update([run for run, _ in runs], [*changed, "steps"], batch_size=200)


def _review(
    run: WorkflowRun, verdict: Verdict, grader_id: UUID, grader_version_id: UUID, now: datetime, expires: datetime
) -> Review:
    dimensions = None
    if verdict.dimensions is not None:
        dimensions = [{"name": part.name, "value": part.value, "weight": part.weight} for part in verdict.dimensions]
    return Review(
        organization_id=run.organization_id,
        run=run,
        completion_id=run.completion_id,
        task_id=run.task_id,
        grader_id=grader_id,
        grader_version_id=grader_version_id,
        value=verdict.value,
        raw_value=verdict.raw_value,
        confidence=verdict.confidence,
        reasoning=verdict.reasoning,
        details=verdict.details,
        dimensions=dimensions,
        expires_at=expires,
        created_at=now,
    )
