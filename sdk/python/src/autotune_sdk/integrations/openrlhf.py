"""A reward file for OpenRLHF (checked with openrlhf 0.11.2), with retries and metrics on the trainer's side.

--reward.remote_url "$(python -m autotune_sdk.integrations.openrlhf)"      prints this file's path

Older recipes spell the flag `--remote_rm_url`. Without this file a reward endpoint (protocol 'openrlhf') does the same.

OpenRLHF loads the file by its path, so its imports are absolute. The settings come from the environment; the value of
an answer without a reward is AUTOTUNE_REWARD_MISSING (default: 0.0).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from autotune_sdk.integrations import _answers, _environment

OPENING = re.compile(r"<[^<>\s]{1,40}>")  # such as <s> or <|begin_of_text|>
DEADLINE_S = 170.0
MISSING = 0.0
STRIP = "AUTOTUNE_REWARD_STRIP"  # endings to remove from a response, such as </s>, separated by commas


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any] | None = None, **_: Any
) -> dict[str, Any]:
    """Return rewards, scores and logs of samples, as tensors, or as lists if torch is not installed.

    queries  prompt and response in one text, special tokens included
    raises   what `Scorer.score` raises; OpenRLHF logs it, and the sample has no reward
    """
    scorer = _environment.scorer(DEADLINE_S, MISSING)
    endings = tuple(ending for ending in os.environ.get(STRIP, "").split(",") if ending)
    sample_labels = labels if labels is not None else [None] * len(queries)
    answers = [split(query, prompt, endings) for query, prompt in zip(queries, prompts, strict=True)]
    scored = scorer.score(
        [
            _answers.item(prompt, response, _metadata(label, is_split))
            for (response, is_split), prompt, label in zip(answers, prompts, sample_labels, strict=True)
        ]
    )
    logs = {
        "autotune_unscored": [float(reward.value is None) for reward in scored.rewards],
        "autotune_not_split": [float(not is_split) for _response, is_split in answers],
    }
    return {
        "rewards": _tensor(scored.numbers),
        "scores": _tensor(scored.numbers),
        "extra_logs": {name: _tensor(column) for name, column in logs.items()},
    }


def split(query: str, prompt: str, endings: Sequence[str] = ()) -> tuple[str, bool]:
    """Return the response in a query, and whether the query begins with the prompt; if not, all of the query.

    A tokenizer may add an opening token to one of the two, or drop it; the prompt still matches. A prompt that is only
    such a token does not match a text without it.
    endings  removed repeatedly from the end
    """
    response, is_split = query, False
    for text, start in ((query, prompt), (_opened(query), prompt), (query, _opened(prompt))):
        if text.startswith(start) and (start or not prompt):
            response, is_split = text[len(start) :], True
            break
    while ending := next((suffix for suffix in endings if response.endswith(suffix)), ""):
        response = response[: -len(ending)]
    return response, is_split


def _opened(text: str) -> str:
    """Return the text without its opening token."""
    match = OPENING.match(text)
    return text[match.end() :] if match else text


def _metadata(label: Any, is_split: bool) -> dict[str, Any]:
    """Return the metadata for graders, in the form of a reward endpoint, so that both reuse the same work."""
    return {
        **({} if label is None else {"label": _answers.as_json(label)}),
        **({} if is_split else {"wholeQuery": True}),
    }


def _tensor(values: list[float]) -> Any:
    try:
        import torch
    except ImportError:
        return values
    return torch.tensor(values, dtype=torch.float32)


if __name__ == "__main__":
    print(os.path.abspath(__file__))
