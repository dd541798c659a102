"""Reward plug-ins of ms-swift for GRPO (checked with ms-swift 4.6.0). A file for `--external_plugins` has three lines:

from swift.rewards import orms
from autotune_sdk.integrations.swift import AutotuneORM

orms["autotune"] = AutotuneORM          # then: --reward_funcs autotune

The task and the rest come from the environment (AUTOTUNE_TASK_ID, …), or from a subclass that sets `options`. A reward
is always a number: releases of ms-swift differ in what a None does to a batch. The value of an answer without a
reward is `missing` (default: 0.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..errors import ConfigurationError
from . import _answers, _environment
from ._answers import Row
from .scoring import Scorer

try:
    from swift.rewards import ORM, AsyncORM
except ImportError:  # the classes also work, and are tested, without it
    ORM = AsyncORM = object

REFERENCES = ("solution",)  # the column of the correct answer in ms-swift's data sets
DEADLINE_S = 120.0
MISSING = 0.0


class _Plugin:
    """The base class of both plug-ins.

    options   of the scorer: task_id, model_id, deadline_s, missing, fresh, without_text, fail_after
    metadata  names of columns that are sent to graders, if the data set has them
    """

    options: ClassVar[Mapping[str, Any]] = {}
    metadata: ClassVar[Sequence[str]] = REFERENCES

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.args = args

    @property
    def scorer(self) -> Scorer:
        """Return the scorer of this process."""
        return _environment.scorer(DEADLINE_S, MISSING, **self.options)

    def items(self, completions: Sequence[str], columns: Mapping[str, Any]) -> list[Row]:
        """Return the items of a batch, with ms-swift's roles (`tool_call`, `tool_response`) converted.

        raises  ConfigurationError if the messages, and so the prompts, are missing
        """
        messages = columns.get("messages")
        if messages is None or len(messages) != len(completions):
            raise ConfigurationError("ms-swift passed no messages, so there are no prompts")
        names = [name for name in _environment.names(tuple(self.metadata)) if name in columns]
        return [
            _answers.item(
                _before(chat), completion, _answers.chosen({name: columns[name][at] for name in names}, names)
            )
            for at, (completion, chat) in enumerate(zip(completions, messages, strict=True))
        ]


class AutotuneORM(_Plugin, ORM):
    """The synchronous plug-in."""

    def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
        """Return one number per completion."""
        return self.scorer.score(self.items(completions, columns)).numbers


class AutotuneAsyncORM(_Plugin, AsyncORM):
    """The asynchronous plug-in: ms-swift runs several of them at once."""

    async def __call__(self, completions: Sequence[str], **columns: Any) -> list[float]:
        """Return one number per completion."""
        scored = await self.scorer.score_async(self.items(completions, columns))
        return scored.numbers


def _before(chat: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the messages before the answer, which ms-swift passes as the last message."""
    return chat[:-1] if chat and chat[-1].get("role") == "assistant" else chat
