"""A reward function of TRL for `reward_funcs` of GRPOTrainer and RLOOTrainer (checked with TRL 1.16.0).

from autotune_sdk.integrations.trl import reward_func

trainer = GRPOTrainer(..., reward_funcs=reward_func("task_…", metadata=["answer"]))

An answer without a reward is None: TRL leaves it out of the weighted sum and, where it has no other reward, out of its
group. TRL itself sets no limit to a reward call; `deadline_s` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ConfigurationError
from . import _answers
from ._answers import Row
from .scoring import Scored, Scorer

DEADLINE_S = 120.0
NAME = "autotune"


class _Reward:
    """The base class of both functions. TRL calls by keyword and reports the reward under `__name__`.

    metadata  names of the data set's columns that are sent to graders
    """

    def __init__(self, scorer: Scorer, metadata: Sequence[str], name: str) -> None:
        self.scorer, self.metadata, self.__name__ = scorer, tuple(metadata), name

    def items(self, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Any]) -> list[Row]:
        """Return the items of a batch. Raises ConfigurationError for a column that the data set does not have."""
        if missing := [name for name in self.metadata if name not in columns]:
            raise ConfigurationError(f"the data set has no column {', '.join(missing)}")
        rows = [{name: columns[name][at] for name in self.metadata} for at in range(len(prompts))]
        return [
            _answers.item(prompt, completion, _answers.chosen(row, self.metadata))
            for prompt, completion, row in zip(prompts, completions, rows, strict=True)
        ]

    def report(
        self,
        scored: Scored,
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> list[float | None]:
        """Report the call to the trainer's log, and return its values."""
        metrics = scored.metrics
        if log_metric:
            log_metric(f"{self.__name__}/unscored", float(metrics.unscored))
            log_metric(f"{self.__name__}/seconds", metrics.seconds)
        if log_extra:
            log_extra(f"{self.__name__}_status", [reward.code or reward.status for reward in scored.rewards])
            log_extra(f"{self.__name__}_completion", [reward.completion_id or "" for reward in scored.rewards])
        return scored.values


class Reward(_Reward):
    """A synchronous reward function."""

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return one reward or None per completion."""
        return self.report(self.scorer.score(self.items(prompts, completions, columns)), log_extra, log_metric)


class AsyncReward(_Reward):
    """An asynchronous reward function: TRL runs several of them at once."""

    async def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return one reward or None per completion."""
        scored = await self.scorer.score_async(self.items(prompts, completions, columns))
        return self.report(scored, log_extra, log_metric)


def reward_func(
    task_id: str | None = None, *, metadata: Sequence[str] = (), name: str = NAME, **options: Any
) -> Reward:
    """Create a reward function of a task.

    metadata  names of the data set's columns that are sent to graders, such as the reference answer
    name      under which TRL reports it
    options   of `scoring.Scorer`: client, model_id, deadline_s, missing, fresh, on_call, without_text, fail_after
    """
    return Reward(Scorer(task_id, **{"deadline_s": DEADLINE_S, **options}), metadata, name)


def async_reward_func(
    task_id: str | None = None, *, metadata: Sequence[str] = (), name: str = NAME, **options: Any
) -> AsyncReward:
    """Create an `async` reward function of a task."""
    return AsyncReward(Scorer(task_id, **{"deadline_s": DEADLINE_S, **options}), metadata, name)
