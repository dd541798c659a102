"""Example webhook events of scores and reviews, for completions that do not exist."""

from typing import Any
from uuid import UUID

import msgspec
from django.utils import timezone

from autotune.core import ids
from autotune.webhooks.events import payloads
from autotune.webhooks.states import EventKind
from scores.models import Review, Reward, Score
from scores.results import events, scores
from scores.results.privacy import GraderPrivacy, ViewerSight
from scores.results.scores import DimensionOut
from scores.reviews import opening

VALUE, CONFIDENCE = 0.72, 0.9


def register() -> None:
    payloads.register_example(EventKind.SCORE_COMPLETED, completed)
    payloads.register_example(EventKind.SCORE_FAILED, failed)
    payloads.register_example(EventKind.REVIEW_REQUESTED, requested)


def completed(organization_id: UUID) -> dict[str, Any]:
    """Return an example of `score.completed`: one grader's score, with its reasoning."""
    reward = _reward(organization_id, value=VALUE, confidence=CONFIDENCE, used=1, failed=0)
    score = Score(
        organization_id=organization_id, completion_id=reward.completion_id, grader_id=ids.new(),
        grader_version_id=ids.new(), value=VALUE, confidence=CONFIDENCE, raw_value=VALUE,
    )  # fmt: skip
    score_out = msgspec.structs.replace(
        scores.shape(score, ViewerSight.of_organization(organization_id, GraderPrivacy())),
        reasoning="The median is right; the empty list is not handled.",
        dimensions=[DimensionOut("correctness", 0.8, 0.75), DimensionOut("clarity", 0.48, 0.25)],
    )
    return events.said_completed(reward, score_out)


def failed(organization_id: UUID) -> dict[str, Any]:
    """Return an example of `score.failed`: a grader that did not answer in time."""
    return events.said_failed(_reward(organization_id, used=0, failed=1, error_code="timeout"), None, GraderPrivacy())


def requested(organization_id: UUID) -> dict[str, Any]:
    """Return an example of `review.requested`: a score that a person must decide on."""
    return opening.requested(Review(organization_id=organization_id, completion_id=ids.new(), value=VALUE))


def _reward(organization_id: UUID, **facts: Any) -> Reward:
    return Reward(
        organization_id=organization_id, completion_id=ids.new(), task_id=ids.new(), aggregation="mean",
        scored_at=timezone.now(), **facts,
    )  # fmt: skip
