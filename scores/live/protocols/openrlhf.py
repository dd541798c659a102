"""OpenRLHF's remote reward model (`--reward.remote_url`, formerly `--remote_rm_url`), as of 0.11.

It sends `query`, `prompts` and `labels`, lists of one length; `query` is the whole text, and no member is the response.
It reads `rewards`, `scores` (0..1, for dynamic filtering) and `extra_logs`.
"""

import re
from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols.samples import SampleOutcome, TrainerSample, the_object

UNSCORED_LOG: Final = "autotune_unscored"
WHOLE: Final = "wholeQuery"
_OPENING: Final = re.compile(r"<[^<>\s]{1,40}>")  # such as <s> or <|begin_of_text|>


def read(body: Any) -> list[TrainerSample]:
    """Return the samples of a request; raises Invalid with a pointer."""
    members = the_object(body)
    queries, prompts = _texts(members, "query"), _texts(members, "prompts")
    labels = members.get("labels")
    if labels is None:
        labels = [None] * len(queries)
    if not isinstance(labels, list):
        raise Invalid.field("/labels", "wrong_type", "must be a list, or null.")
    for name, entries in (("prompts", prompts), ("labels", labels)):
        if len(entries) != len(queries):
            raise Invalid.field(f"/{name}", "invalid_length", f"give {len(queries)}, as many as in query.")
    return [_sample(*row) for row in zip(queries, prompts, labels, strict=True)]


def response_of(query: str, prompt: str) -> tuple[str, bool]:
    """Split the response off a query. Return it, and whether the query begins with the prompt.

    A tokenizer may add an opening token to one of the two, or lose it; the prompt is recognized despite that. A query
    that does not begin with the prompt is returned unchanged.
    """
    for text, start in ((query, prompt), (_opened(query), prompt), (query, _opened(prompt))):
        if text.startswith(start) and (start or not prompt):  # a lone token, once taken off, is before every text
            return text[len(start) :], True
    return query, False


def write(outcomes: list[SampleOutcome]) -> dict[str, Any]:
    values = [outcome.value for outcome in outcomes]
    return {
        "rewards": values,
        "scores": values,
        "extra_logs": {UNSCORED_LOG: [0.0 if outcome.is_scored else 1.0 for outcome in outcomes]},
    }


def _sample(query: str, prompt: str, label: Any) -> TrainerSample:
    response, has_prompt = response_of(query, prompt)
    metadata = {} if label is None else {"label": label}
    if not has_prompt:
        metadata[WHOLE] = True
    return TrainerSample(response, prompt=prompt, metadata=metadata or None)


def _opened(text: str) -> str:
    """The text without the token that opens it."""
    match = _OPENING.match(text)
    return text[match.end() :] if match else text


def _texts(members: dict[str, Any], name: str) -> list[str]:
    if name not in members:
        raise Invalid.field(f"/{name}", "missing_field", "is required: a list of strings.")
    values = members[name]
    if not isinstance(values, list):
        raise Invalid.field(f"/{name}", "wrong_type", "must be a list of strings.")
    for at, value in enumerate(values):
        if not isinstance(value, str):
            raise Invalid.field(f"/{name}/{at}", "wrong_type", "must be a string.")
    return values
