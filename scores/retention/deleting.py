"""Delete a completion's text, or a score, on request."""

from uuid import UUID

from django.db import transaction

from autotune.access import idempotency
from autotune.core.clock import database_now
from autotune.webhooks.events import forgetting
from scores import signals
from scores.engine import settling
from scores.engine.materials import TaskFactsCache
from scores.feedback.models import Feedback
from scores.models import Review, Reward, Score, WorkflowRun
from scores.retention import erasing, legal_holds
from scores.retention.legal_holds import Holdable
from scores.states import FINAL, RunPurpose


def delete_completion(completion_id: UUID) -> None:
    """Erase the text of a completion; does nothing if it was erased before.

    raises Conflict `legal_hold`
    """
    if erasing.erase([completion_id], end_unfinished=True).held:
        raise legal_holds.refusal()


def delete_score(score_id: UUID) -> None:
    """Replace a score by a tombstone without text, and recompute the reward; does nothing if it was deleted before.

    raises Conflict `legal_hold`
    """
    with transaction.atomic():
        about = Score.objects.values_list("completion_id", "organization_id", "task_id", "completion__model_id")
        completion_id, organization_id, task_id, model_id = about.get(pk=score_id)
        legal_holds.share([organization_id])
        settling.lock({completion_id})
        score = Score.objects.defer("reasoning", "details").get(pk=score_id)
        if score.deleted_at is not None:
            return
        if legal_holds.held([Holdable(completion_id, organization_id, task_id, model_id)]):
            raise legal_holds.refusal("score")
        Score.objects.filter(pk=score_id).update(
            deleted_at=database_now(), reasoning=None, details=None, dimensions=None
        )
        reviewed = Review.objects.filter(run_id=score.run_id)
        review_ids = list(reviewed.values_list("pk", flat=True))
        reviewed.update(reasoning=None, details=None, explanation=None, dimensions=None)
        Feedback.objects.filter(review__in=review_ids).update(explanation=None)
        forgetting.forget([completion_id, *review_ids])
        idempotency.forget([completion_id], about="/reviews/")
        signals.score_deleted.send(None, completions=[completion_id])
        if score.is_scoring and not score.superseded:
            _reward_anew(completion_id)


def _reward_anew(completion_id: UUID) -> None:
    """Recompute the reward from the remaining scores; if runs are unfinished, their end settles the next reward."""
    scoring = WorkflowRun.objects.filter(completion_id=completion_id, purpose=RunPurpose.SCORE)
    if scoring.exclude(status__in=FINAL).exists():
        Reward.objects.filter(completion_id=completion_id).delete()
    else:
        settling.settle({completion_id}, TaskFactsCache())
