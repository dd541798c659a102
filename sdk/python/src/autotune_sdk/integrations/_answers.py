"""Convert prompts and answers of the frameworks, plain or as chat messages, into items of the API.

An unreadable answer is never sent as an empty text: it becomes a `Refusal`, which a scorer counts as unscored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from ._conversations import TEXT_PARTS, UnmappedConversation, mapped

AFTER: Final = "afterResponse"
SAME_ON_ALL: Final = ("name", "tool_call_id", "tool_calls")  # on every message of exports with tools
NO_TEXT: Final = "no_text"
MAX_SAFE_INTEGER: Final = 2**53 - 1


@dataclass(frozen=True)
class Refusal:
    """An answer that is not sent, because it cannot be read or mapped.

    code    no_text, unknown_role, unreadable_tool_call, unreadable_prompt or reserved_name
    reason  a sentence for the person who runs the training
    item    for an answer without text: the item to score if that counts as an empty text
    """

    code: str
    reason: str
    item: Mapping[str, Any] | None = None


Row = Mapping[str, Any] | Refusal


def item(prompt: Any, completion: Any, metadata: Mapping[str, Any] | None = None) -> dict[str, Any] | Refusal:
    """Build the item of an answer. The prompt and the completion are text or messages.

    Of several new messages the response is the text of the model's last turn. Messages before it (tool calls, results)
    join the conversation; messages after it, and calls beside its text, go into the metadata as `afterResponse`.
    """
    try:
        return _item(prompt, completion, dict(metadata or {}))
    except UnmappedConversation as exc:
        return Refusal(exc.code, exc.reason)


def chat(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Convert mappings or pydantic models into chat messages of the API, with text in one piece.

    raises  UnmappedConversation
    """
    return [
        _with_joined_text(message)
        for message in mapped([_plain_message(message, at) for at, message in enumerate(messages)])
    ]


def text(content: Any) -> str | None:
    """Return the text of a message's content: a string, or its text parts. None if it has no readable text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else []
    texts = [part_text for part_text in map(_part_text, parts) if part_text is not None]
    return "".join(texts) if texts else None


def chosen(columns: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named `columns` that exist as metadata, converted to JSON types."""
    return {name: as_json(columns[name]) for name in names if name in columns}


def as_json(value: Any) -> Any:
    """Convert a value to JSON types: arrays and tensors to lists, models to objects, anything else to text.

    Numbers that some JSON readers cannot hold become text: integers beyond 2^53 - 1, infinities and NaN.
    """
    plain = _plain(value)
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return plain


def is_chat(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _item(prompt: Any, completion: Any, metadata: dict[str, Any]) -> dict[str, Any] | Refusal:
    """Build the item, or raise UnmappedConversation."""
    before = chat(prompt) if is_chat(prompt) else None
    if before is None and not isinstance(prompt, str):
        raise UnmappedConversation(
            "unreadable_prompt", f"The prompt is {type(prompt).__name__}, neither text nor messages."
        )
    new = chat(completion) if is_chat(completion) else []
    response: Any = completion if isinstance(completion, str) else None
    if new:
        first, response, after = _split(new)
        if after:
            if AFTER in metadata:
                raise UnmappedConversation("reserved_name", f"The column name {AFTER} is reserved: rename the column.")
            metadata[AFTER] = after
        if first:
            before = ([{"role": "user", "content": prompt}] if before is None else before) + first
    conversation = {"prompt": prompt} if before is None else {"messages": before}
    row = {**conversation, "response": response or "", **({"metadata": metadata} if metadata else {})}
    return row if response is not None else Refusal(NO_TEXT, "The answer of the model holds no text.", row)


def _split(new: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], str | None, list[dict[str, Any]]]:
    """Split new messages into those before the response, its text (None without one), and those after it.

    The response is the last message of the model's last turn that does more than call tools.
    """
    turn = last_turn([message["role"] for message in new])
    last = next(
        (index for index in reversed(turn) if new[index].get("content") is not None or not _calls(new[index])), None
    )
    if last is None:
        return list(new), None, []
    message, after = new[last], list(new[last + 1 :])
    if calls := _calls(message):
        after.insert(0, {"role": "assistant", "content": None, "tool_calls": calls})
    content = message.get("content")
    words = text(content)
    has_more = bool(after) or message.get("refusal") or (is_chat(content) and _texts(content) < len(content))
    if words is None or (not words and has_more):
        return list(new), None, []
    return list(new[:last]), words, after


def last_turn(roles: Sequence[str]) -> range:
    """Return the indexes of the assistant's last consecutive messages."""
    end = len(roles)
    while end and roles[end - 1] != "assistant":
        end -= 1
    start = end
    while start and roles[start - 1] == "assistant":
        start -= 1
    return range(start, end)


def _calls(message: Mapping[str, Any]) -> Any:
    return message.get("tool_calls")


def _texts(content: Sequence[Any]) -> int:
    return sum(_part_text(part) is not None for part in content)


def _plain_message(message: Any, at: int) -> dict[str, Any]:
    if hasattr(message, "model_dump"):
        message = message.model_dump(mode="json", exclude_none=True)
    if not isinstance(message, Mapping):
        raise UnmappedConversation("unreadable_prompt", f"Message {at} is {type(message).__name__}, not a message.")
    plain = {name: value for name, value in _plain(message).items() if not _is_filling(name, value)}
    if isinstance(calls := plain.get("tool_calls"), str):
        try:
            plain["tool_calls"] = json.loads(calls)
        except (ValueError, RecursionError):
            raise UnmappedConversation(
                "unreadable_tool_call", f"Message {at} has tool_calls that are not JSON."
            ) from None
    return plain


def _is_filling(name: str, value: Any) -> bool:
    """Return whether a member is empty, and only present because Parquet needs equal members on all messages."""
    return name not in ("content", "value") and (value is None or (value == "" and name in SAME_ON_ALL))


def _with_joined_text(message: dict[str, Any]) -> dict[str, Any]:
    """Join the parts of a message that are all text. Beside parts of other kinds, text parts stay parts."""
    content = message.get("content")
    if isinstance(content, list) and content:
        parts = [_part(part) for part in content]
        only_text = all(_part_text(part) is not None for part in parts)
        content = text(parts) if only_text else parts
    return {**message, "content": content}


def _part(part: Any) -> Any:
    words = _part_text(part)
    return part if words is None else {"type": "text", "text": words}


def _part_text(part: Any) -> str | None:
    """Return the text of a part of a text type; None for other parts."""
    if isinstance(part, str):
        return part
    kind = part.get("type", "text") if isinstance(part, Mapping) else getattr(part, "type", "text")
    words = part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None)
    return words if kind in TEXT_PARTS and isinstance(words, str) else None


def _plain(value: Any) -> Any:
    """Return the value with arrays as lists, models as objects and exact numbers; other values stay unchanged."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def _digits(value: int) -> str:
    """Return all digits of an integer. Python's own conversion stops at 4,300 digits."""
    try:
        return str(value)
    except ValueError:
        return format(Decimal(value), "f")
