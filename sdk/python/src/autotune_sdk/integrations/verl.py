"""Custom reward functions for veRL (checked with verl 0.9.1).

reward.custom_reward_function.path=pkg://autotune_sdk.integrations.verl
reward.custom_reward_function.name=compute_score_async
+reward.custom_reward_function.reward_kwargs.task_id=task_…

veRL passes only the response, so the conversation is in `extra_info`: exports with `layout=verl` put all of it there as
`messages` (JSON text). The result is an object with the same members on each sample. veRL has no value for "unscored":
the score is then `missing` (default: 0.0), `autotune_scored` is 0.0 and `error` says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigurationError
from ..models.rewards import LiveReward
from . import _answers, _environment
from ._answers import Refusal, Row
from ._gathering import Gathering
from .scoring import Missing, Scorer, WithoutText

DEADLINE_S = 280.0  # below the 300 s of the manager `rate_limited`
MISSING = 0.0
CONVERSATION = "messages"  # in extra_info: all messages before the response, as a list or its JSON text
PROMPTS = ("prompt", "prompt_text", "question")  # members of extra_info that may hold the prompt instead
REFERENCE = "ground_truth"

_gatherings: dict[int, Gathering] = {}


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    task_id: str | None = None,
    model_id: str | None = None,
    deadline_s: float | None = None,
    missing: Missing = None,
    metadata: list[str] | None = None,
    without_text: WithoutText | None = None,
    fail_after: int | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Return the score of one sample, for any reward manager; it blocks its thread.

    metadata  names of members of extra_info that are sent to graders besides `ground_truth` and `data_source`
    raises    ConfigurationError if extra_info has no prompt; MissingReward if `missing` is 'raise'
    """
    scorer = _environment.scorer(
        DEADLINE_S, MISSING, task_id=task_id, model_id=model_id, deadline_s=deadline_s, missing=missing,
        without_text=without_text, fail_after=fail_after,
    )  # fmt: skip
    item = _item(data_source, solution_str, ground_truth, extra_info, metadata)
    return _shaped(scorer, scorer.score([item]).rewards[0])


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    task_id: str | None = None,
    model_id: str | None = None,
    deadline_s: float | None = None,
    missing: Missing = None,
    metadata: list[str] | None = None,
    without_text: WithoutText | None = None,
    fail_after: int | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Do the same asynchronously, for all managers but `remote`; samples that arrive together share a request."""
    scorer = _environment.scorer(
        DEADLINE_S, MISSING, task_id=task_id, model_id=model_id, deadline_s=deadline_s, missing=missing,
        without_text=without_text, fail_after=fail_after,
    )  # fmt: skip
    gathering = _gatherings.setdefault(id(scorer), Gathering(scorer))
    item = _item(data_source, solution_str, ground_truth, extra_info, metadata)
    return _shaped(scorer, await gathering.reward(item))


def _item(
    data_source: str, response: str, ground_truth: Any, extra_info: Mapping[str, Any] | None, names: list[str] | None
) -> Row:
    """Build the item; raises ConfigurationError if extra_info has neither the conversation nor a prompt."""
    extras = extra_info or {}
    metadata_names = _environment.names() if names is None else tuple(names)
    metadata = {
        "data_source": data_source, REFERENCE: _answers.as_json(ground_truth), **_answers.chosen(extras, metadata_names)
    }  # fmt: skip
    conversation = extras.get(CONVERSATION)
    if _is_there(conversation):
        try:
            conversation = json.loads(conversation) if isinstance(conversation, str) else _as_list(conversation)
        except (ValueError, RecursionError):
            return Refusal("unreadable_prompt", f"extra_info.{CONVERSATION} is not JSON.")
        return _answers.item(conversation, response, metadata)
    prompt = next((extras[name] for name in PROMPTS if _is_there(extras.get(name))), None)
    if prompt is None:
        raise ConfigurationError(
            f"extra_info has no prompt: put the conversation there as {CONVERSATION!r} (layout=verl does), or a text "
            "as 'prompt_text'"
        )
    return _answers.item(_as_list(prompt), response, metadata)


def _is_there(value: Any) -> bool:
    """Return whether a member of extra_info has a value: Parquet stores null or an empty text on rows without one."""
    return value is not None and not (isinstance(value, str) and not value)


def _as_list(prompt: Any) -> Any:
    """Convert an array of messages, as Parquet returns it, to a list."""
    return prompt.tolist() if hasattr(prompt, "tolist") else prompt


def _shaped(scorer: Scorer, reward: LiveReward) -> dict[str, Any]:
    """Return the same members on each sample, without which veRL cannot combine them."""
    return {
        "score": scorer.value(reward),
        "autotune_scored": float(reward.value is not None),
        "autotune_confidence": reward.confidence if reward.confidence is not None else 0.0,
        "autotune_completion": reward.completion_id or "",
        "error": "" if reward.value is not None else reward.code or reward.status,
    }
