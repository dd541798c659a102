"""The endpoint grader of Microsoft Foundry's reinforcement fine-tuning, a private preview (AUTOTUNE_FOUNDRY_GRADER).

It sends `sample`, `item` (the row of the data set) and `trace_id`, each of whose members may be missing, and reads
`score`. The prompt is the row's `messages`, `prompt`, `input` or `question`, the first that is there; else the row.
"""

import json
from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols.samples import Outcome, Sample, joined_text, the_member, the_messages, the_object

PROMPTS: Final = ("messages", "prompt", "input", "question")


def read(body: Any) -> list[Sample]:
    """raises  Invalid with a pointer"""
    members = the_object(body)
    item = members.get("item")
    if item is not None and not isinstance(item, dict):
        raise Invalid.field("/item", "wrong_type", "must be an object.")
    metadata = {name: members[name] for name in ("item", "trace_id") if members.get(name)}
    sample = Sample(_response(the_member(members, "sample")), metadata=metadata or None)
    name, prompt = next(((name, item[name]) for name in PROMPTS if item and item.get(name)), ("", None))
    if isinstance(prompt, list):
        sample.messages = the_messages(prompt, f"/item/{name}")
    else:
        sample.prompt = prompt if isinstance(prompt, str) else _json(item or {})
    return [sample]


def write(body: Any, outcomes: list[Outcome]) -> dict[str, Any]:
    (outcome,) = outcomes
    return {"score": outcome.value}


def _response(sample: dict[str, Any]) -> str:
    """`output_text`, else the first choice's message, else `output_json`.

    raises  Invalid if there is none of them
    """
    if isinstance(sample.get("output_text"), str) and sample["output_text"]:
        return sample["output_text"]
    choices = sample.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        if isinstance(message, dict) and (text := joined_text(message.get("content"))):
            return text
    if sample.get("output_json"):
        return _json(sample["output_json"])
    if "output_text" in sample or choices:
        return ""
    raise Invalid.field("/sample", "missing_field", "give one of output_text, choices and output_json.")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
