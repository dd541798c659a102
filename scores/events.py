"""The data of `score.completed` and `score.failed`, made from the rows at fan-out: two queries for any number.

What changed since then is told as it is now. A completion that is being scored again after a failure has nothing to
tell until that is over.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from autotune.core import ids
from autotune.core.api import ApiStruct
from autotune.webhooks import payloads
from autotune.webhooks.states import EventKind
from scores import failure_codes, reading
from scores.completion_shapes import RewardOut, reward_out
from scores.models import Reward, Score, WorkflowRun
from scores.reading import ScoreOut
from scores.run_shapes import RunErrorOut
from scores.states import RunStatus


class ScoreCompleted(ApiStruct):
    """`score` is the sole grader's; for a panel the reward in a score's shape."""

    completion_id: str
    task_id: str
    score: ScoreOut | None
    reward: RewardOut | None


class ScoreFailed(ApiStruct):
    completion_id: str
    task_id: str
    error: RunErrorOut


def register() -> None:
    payloads.register(EventKind.SCORE_COMPLETED, completed)
    payloads.register(EventKind.SCORE_FAILED, failed)


def completed(completion_ids: Sequence[UUID]) -> Mapping[UUID, dict[str, Any]]:
    """By completion, those that have a reward."""
    rewards = Reward.objects.filter(pk__in=completion_ids, value__isnull=False).in_bulk()
    counted = Score.objects.filter(completion_id__in=rewards, shadow=False, superseded=False, run__panel_size=1)
    sole = _by_completion(counted.order_by("id"))
    return {
        key: msgspec.to_builtins(
            ScoreCompleted(
                ids.encode("comp", key),
                ids.encode("task", reward.task_id),
                sole.get(key) or reading.reward_shape(reward),
                reward_out(reward),
            )
        )
        for key, reward in rewards.items()
    }


def failed(completion_ids: Sequence[UUID]) -> Mapping[UUID, dict[str, Any]]:
    """By completion, those that ended without a reward."""
    rewards = Reward.objects.filter(pk__in=completion_ids, value=None).in_bulk()
    runs = WorkflowRun.objects.filter(completion_id__in=rewards, panel_size__gt=0, status=RunStatus.FAILED)
    said = runs.order_by("generation", "id").values_list("completion_id", "error_code", "error_message")
    messages = {(key, code): message for key, code, message in said}
    return {
        key: msgspec.to_builtins(
            ScoreFailed(
                ids.encode("comp", key),
                ids.encode("task", reward.task_id),
                _error(reward.error_code, messages.get((key, reward.error_code))),
            )
        )
        for key, reward in rewards.items()
    }


def _by_completion(scores: Iterable[Score]) -> Mapping[UUID, ScoreOut]:
    """The newest score of each completion, as it goes out."""
    newest = {score.completion_id: score for score in scores}
    return dict(zip(newest, reading.shapes(list(newest.values())), strict=True))


def _error(code: str, message: str | None) -> RunErrorOut:
    said = f"{message or ''} {failure_codes.advice(code)}".strip()
    return RunErrorOut(code, said, failure_codes.fault(code))
