"""Build the data of `score.completed` and `score.failed` events at fan-out, in few queries for any number.

The data is the current state, which may have changed since the event. A completion that is being scored again after a
failure has no data until that is over.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.webhooks.events import payloads
from autotune.webhooks.states import EventKind
from scores.models import Reward, Score, WorkflowRun
from scores.results import scores as score_results
from scores.results.completion_responses import RewardOut, reward_out
from scores.results.privacy import SAID_TO_ALL, GraderPrivacy, ViewerSight
from scores.results.scores import ScoreOut
from scores.states import RunPurpose, RunStatus
from scores.workflow_runs.responses import WorkflowRunErrorOut, error_out


class ScoreCompleted(ApiStruct):
    """`score` is the sole grader's; for a panel the reward in a score's shape. `source`: of the completion."""

    completion_id: str
    task_id: str
    source: str
    score: ScoreOut | None
    reward: RewardOut | None


class ScoreFailed(ApiStruct):
    completion_id: str
    task_id: str
    source: str
    error: WorkflowRunErrorOut


def register() -> None:
    payloads.register(EventKind.SCORE_COMPLETED, completed)
    payloads.register(EventKind.SCORE_FAILED, failed)


def completed(completion_ids: Sequence[UUID]) -> Mapping[UUID, dict[str, Any]]:
    """Return the data of the completions that have a reward, by completion."""
    rewards = Reward.objects.filter(pk__in=completion_ids, value__isnull=False).in_bulk()
    counted = Score.objects.live().filter(
        completion_id__in=rewards, purpose=RunPurpose.SCORE, superseded=False, run__panel_size=1
    )
    counted = counted.defer("details").order_by("id")
    sole = _shown({score.completion_id: score for score in counted}.values())  # the newest of each
    return {key: said_completed(reward, sole.get(key)) for key, reward in rewards.items()}


def said_completed(reward: Reward, sole: ScoreOut | None) -> dict[str, Any]:
    """Return the data of `score.completed`. `sole`: the score, if only one grader judged."""
    return msgspec.to_builtins(
        ScoreCompleted(
            ids.encode("comp", reward.completion_id),
            ids.encode("task", reward.task_id),
            reward.source,
            sole or score_results.reward_shape(reward),
            reward_out(reward),
        )
    )


def failed(completion_ids: Sequence[UUID]) -> Mapping[UUID, dict[str, Any]]:
    """Return the data of the completions that ended without a reward, by completion."""
    rewards = Reward.objects.filter(pk__in=completion_ids, value=None).in_bulk()
    scoring = WorkflowRun.objects.filter(completion_id__in=rewards, purpose=RunPurpose.SCORE)
    runs = scoring.order_by("generation", "id").only(
        "completion_id", "organization_id", "grader_id", "status", "error_code", "error_message"
    )  # fmt: skip
    # Filtered in Python: a condition on the status would read the failed runs of the whole history.
    messages = {(run.completion_id, run.error_code): run for run in runs if run.status == RunStatus.FAILED}
    judges = GraderPrivacy()
    judges.meet(run.grader_id for run in messages.values() if run.error_code not in SAID_TO_ALL)
    return {key: said_failed(reward, messages.get((key, reward.error_code)), judges) for key, reward in rewards.items()}


def said_failed(reward: Reward, run: WorkflowRun | None, judges: GraderPrivacy) -> dict[str, Any]:
    """Return the data of `score.failed`. `run`: the one that failed with the reward's code."""
    sight = ViewerSight.of_organization(reward.organization_id, judges)
    return msgspec.to_builtins(
        ScoreFailed(
            ids.encode("comp", reward.completion_id),
            ids.encode("task", reward.task_id),
            reward.source,
            error_out(reward.error_code, run, sight),
        )
    )


def _shown(scores: Collection[Score]) -> Mapping[UUID, ScoreOut]:
    """By completion, each score as the organization that asked for it sees it."""
    judges = GraderPrivacy()
    judges.meet_those_of(scores)
    by_version = score_results.scales(scores)

    def shown(score: Score) -> ScoreOut:
        return score_results.shape(score, ViewerSight.of_organization(score.organization_id, judges), by_version)

    return {score.completion_id: shown(score) for score in scores}
