"""Prompts and answers as the frameworks have them, plain or as chat messages, made items of the API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def item(prompt: Any, completion: Any, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The item of an answer; text or messages on either side.

    Of several new messages the last one is the response, and those before it (tool calls, results) belong to what it
    answers.
    """
    before = [message(one) for one in prompt] if _is_chat(prompt) else None
    response = completion
    if _is_chat(completion):
        new = [message(one) for one in completion]
        response = text(new[-1]["content"]) if new else ""
        if len(new) > 1:
            before = (before or [{"role": "user", "content": str(prompt)}]) + new[:-1]
    asked = {"prompt": str(prompt)} if before is None else {"messages": before}
    return {**asked, "response": str(response), **({"metadata": dict(metadata)} if metadata else {})}


def message(one: Any) -> dict[str, Any]:
    """One chat message, of a mapping or a pydantic model, with its text in one piece."""
    plain = dict(one) if isinstance(one, Mapping) else one.model_dump(mode="json", exclude_none=True)
    content = plain.get("content")
    plain["content"] = content if content is None and plain.get("tool_calls") else text(content)
    return plain


def text(content: Any) -> str:
    """The text of a message's content: a string, parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None) for part in content]
    return "".join(part for part in parts if isinstance(part, str))


def chosen(columns: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What of `columns` travels as metadata: the named ones that are there, as JSON can carry them."""
    return {name: as_json(columns[name]) for name in names if name in columns}


def as_json(value: Any) -> Any:
    """A value as JSON carries it: arrays and tensors as lists, models as objects, anything else as text."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        return value.tolist()
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value


def _is_chat(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
