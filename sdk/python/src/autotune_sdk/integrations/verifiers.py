"""verifiers: a reward for v1 task configurations (checked with verifiers 0.4.0), and a function for the classic Rubric
(checked with 0.1.9).

v1, in the configuration of a taskset:

    [env.taskset.task.rewards]
    autotune = { fn = "autotune_sdk.integrations.verifiers:reward", weight = 1.0 }

classic:

    rubric = vf.Rubric(funcs=[rubric_func("task_…", missing=0.0)], weights=[1.0])

By default the v1 reward raises for an answer without a reward, so that the rollout counts as one whose scoring failed
and not as a bad one. The classic Rubric turns an exception into 0.0, so you must state the number there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..models.rewards import LiveReward
from . import _answers, _environment
from ._answers import Row
from ._gathering import Gathering
from .scoring import Missing, Scorer, checked

DEADLINE_S = 120.0
REFERENCES = ("answer",)

_gatherings: dict[int, Gathering] = {}


async def reward(task: Any, trace: Any) -> float:
    """Return the reward of a v1 trace: of its last reply to the messages before. Settings come from the environment.

    raises  MissingReward if there is none, unless AUTOTUNE_REWARD_MISSING is a number
    """
    scorer = _environment.scorer(DEADLINE_S, "raise")
    gathering = _gatherings.setdefault(id(scorer), Gathering(scorer))
    return await _of_trace(gathering, _environment.names(REFERENCES), task, trace)


def reward_for(
    task_id: str | None = None, *, metadata: Sequence[str] = REFERENCES, missing: Missing = "raise", **options: Any
) -> Callable[[Any, Any], Awaitable[float]]:
    """Create a reward with its own settings, for a `@vf.reward` method to call with `task.data` and the trace.

    metadata  names of members of the task's data that are sent to graders
    options   of `scoring.Scorer`
    """
    checked(missing, number=True)
    gathering = Gathering(Scorer(task_id, missing=missing, **{"deadline_s": DEADLINE_S, **options}))

    async def autotune(task: Any, trace: Any) -> float:
        return await _of_trace(gathering, metadata, task, trace)

    return autotune


def rubric_func(
    task_id: str | None = None,
    *,
    missing: Missing,
    metadata: Sequence[str] = REFERENCES,
    name: str = "autotune",
    **options: Any,
) -> Callable[..., Awaitable[float]]:
    """Create a function for the classic Rubric.

    missing   the number for an answer without a reward. It has no default: the Rubric accepts nothing else
    metadata  which of 'answer', 'info' and 'task' are sent to graders
    options   of `scoring.Scorer`
    """
    checked(missing, number=True)
    gathering = Gathering(Scorer(task_id, missing=missing, **{"deadline_s": DEADLINE_S, **options}))

    async def autotune(prompt: Any, completion: Any, answer: Any = "", state: Any = None, **members: Any) -> float:
        columns = _answers.chosen({"answer": answer, **members}, metadata)
        reward = await gathering.reward(_answers.item(prompt, completion, columns))
        if isinstance(state, dict):
            state["autotune"] = {"completion": reward.completion_id, "status": reward.code or reward.status}
        return _number(gathering.scorer, reward)

    autotune.__name__ = name
    return autotune


async def _of_trace(gathering: Gathering, metadata: Sequence[str], task: Any, trace: Any) -> float:
    columns = _answers.chosen(task.model_dump(mode="json"), metadata)
    reward = await gathering.reward(_of_messages(list(trace.messages), trace.last_reply, columns))
    trace.info["autotune"] = {"completion": reward.completion_id, "status": reward.code or reward.status}
    return _number(gathering.scorer, reward)


def _of_messages(messages: list[Any], reply: Any, columns: dict[str, Any]) -> Row:
    """Build the item of a trace: its last reply to the messages before. A reply that only calls tools has no text."""
    turn = _answers.last_turn([message.role for message in messages])
    if not turn:
        return _answers.item(messages, reply or None, columns)
    return _answers.item(messages[: turn.start], messages[turn.start :], columns)


def _number(scorer: Scorer, reward: LiveReward) -> float:
    value = scorer.value(reward)
    return 0.0 if value is None else value
