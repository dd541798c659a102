"""Responses of live rewards."""

from collections.abc import Iterable
from typing import Literal

from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from scores.live.answering import LiveAnswerResult
from scores.results.waiting_responses import WaitingForOut


class LiveReward(ApiStruct):
    """The reward of one item. `value` and `confidence` are null unless it is `completed`; `code` says why it `failed`.

    `pending`: not scored yet, for the reason in `waitingFor`. Scoring continues; a request with the same item joins it.
    """

    value: float | None
    confidence: float | None
    completion_id: str
    status: Literal["completed", "pending", "failed"]
    code: str | None
    waiting_for: WaitingForOut | None = None


class LiveRewards(ApiStruct):
    """One reward for each item, in the order of the request."""

    rewards: list[LiveReward]


def shape(answers: Iterable[LiveAnswerResult]) -> LiveRewards:
    """Convert answers to the response."""
    return LiveRewards([_one(answered) for answered in answers])


def _one(answered: LiveAnswerResult) -> LiveReward:
    completion_id = ids.encode("comp", answered.completion_id)
    wait = answered.wait.out() if answered.wait else None
    return LiveReward(answered.value, answered.confidence, completion_id, answered.status, answered.code, wait)
