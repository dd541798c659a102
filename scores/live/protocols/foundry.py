"""The endpoint grader of Microsoft Foundry's reinforcement fine-tuning, a private preview (AUTOTUNE_FOUNDRY_GRADER).

It sends `sample`, `item` (the row of the data set) and `trace_id`, each of whose members may be missing, and reads
`score`. The prompt is the row's `messages`, `prompt`, `input` or `question`, the first that is present; else the row.
"""

import json
from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols.conversations import UnmappedConversation, mapped, texts_of
from scores.live.protocols.samples import SampleOutcome, TrainerSample, the_member, the_messages, the_object

PROMPTS: Final = ("messages", "prompt", "input", "question")


def read(body: Any) -> list[TrainerSample]:
    """Return the sample of a request; raises Invalid with a pointer."""
    members = the_object(body)
    item = members.get("item")
    if item is not None and not isinstance(item, dict):
        raise Invalid.field("/item", "wrong_type", "must be an object.")
    metadata = {name: members[name] for name in ("item", "trace_id") if members.get(name)}
    text, calls = _response(the_member(members, "sample"))
    sample = TrainerSample(text or "", has_text=text is not None, metadata=metadata or None)
    name, prompt = next(((name, item[name]) for name in PROMPTS if item and item.get(name)), ("", None))
    try:
        sample.add_after([{"role": "assistant", "content": None, "tool_calls": calls}] if calls else [])
        if isinstance(prompt, list):
            sample.messages = mapped(the_messages(prompt, f"/item/{name}"))
        else:
            sample.prompt = prompt if isinstance(prompt, str) else _json(item or {})
    except UnmappedConversation as exc:
        sample.refused, sample.reason = exc.code, exc.reason
    return [sample]


def write(outcomes: list[SampleOutcome]) -> dict[str, Any]:
    (outcome,) = outcomes
    return {"score": outcome.value}


def _response(sample: dict[str, Any]) -> tuple[str | None, list[Any]]:
    """The text of the answer and its tool calls. The text is `output_text`, else the first choice's message, else
    `output_json`; None if the answer has no text.

    raises  Invalid if all three members are missing
    """
    message, output = _message(sample.get("choices")), sample.get("output_text")
    calls = message.get("tool_calls") or sample.get("output_tools")
    calls = calls if isinstance(calls, list) else []
    texts = texts_of(message.get("content"))
    if text := (output if isinstance(output, str) else "") or "\n".join(texts):
        return text, calls
    if sample.get("output_json"):
        return _json(sample["output_json"]), calls
    if not message and "output_text" not in sample and not sample.get("choices"):
        raise Invalid.field("/sample", "missing_field", "must have one of output_text, choices and output_json.")
    has_empty_text = bool(texts) if message else isinstance(output, str)  # an empty text that was sent as text
    if has_empty_text and not calls and not message.get("refusal") and not _has_other_parts(message):
        return "", calls
    return None, calls


def _message(choices: Any) -> dict[str, Any]:
    """The first choice's message; empty if there is none."""
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def _has_other_parts(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and len(texts_of(content)) < len(content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
