"""The response of `POST /rewards`, and its conversion from answers."""

from collections.abc import Iterable
from typing import Literal

from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from scores.live.answering import LiveAnswerResult
from scores.results.waiting_responses import WaitingForOut


class LiveReward(ApiStruct):
    """The reward of one item. `value` and `confidence` are null unless it is `completed`; `code` says why it `failed`.

    A `pending` item has no score yet, for the reason in `waitingFor`. Autotune continues to score it. A request
    with the same item waits for the same score.
    """

    value: float | None
    confidence: float | None
    completion_id: str
    status: Literal["completed", "pending", "failed"]
    code: str | None
    waiting_for: WaitingForOut | None = None


class LiveRewards(ApiStruct):
    """The rewards of all items, in the order of the request."""

    rewards: list[LiveReward]


def rewards_out(answers: Iterable[LiveAnswerResult]) -> LiveRewards:
    """Return the response for these answers."""
    return LiveRewards([_reward_out(answered) for answered in answers])


def _reward_out(answered: LiveAnswerResult) -> LiveReward:
    completion_id = ids.encode("comp", answered.completion_id)
    wait = answered.wait.out() if answered.wait else None
    return LiveReward(answered.value, answered.confidence, completion_id, answered.status, answered.code, wait)
