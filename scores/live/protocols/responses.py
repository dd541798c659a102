"""Convert input and output items of OpenAI's Responses to the chat messages and the text that graders judge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scores.live.protocols.conversations import (
    UnmappedConversation,
    compact,
    content_of,
    is_assistant,
    mapped,
    texts_of,
    tool_call,
)

KEPT: Final = ("name", "tool_call_id", "tool_calls", "function_call")  # members of messages in chat form


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """The output of a model, split at the text that graders judge.

    before  chat messages before the text: tool calls, their results, earlier messages
    text    of the last message in the last turn; None if that has no text, or the turn has no message
    after   chat messages after the text: calls of the same turn, and their results
    """

    before: list[dict[str, Any]]
    text: str | None
    after: list[dict[str, Any]]


def conversation(items: Sequence[Any]) -> list[dict[str, Any]]:
    """Convert items to chat messages, without reasoning. An item of an unknown kind becomes a part, unchanged.

    raises  UnmappedConversation for an item that is neither a message nor has a type
    """
    return _join_calls([message for at, item in enumerate(items) for message in _messages(item, at)])


def reply(output: Sequence[Any]) -> ModelOutput:
    """Split a response's `output`. `type` is optional on messages, as in the input form.

    raises  UnmappedConversation
    """
    position = next((index for index in reversed(_last_turn(output)) if _is_answer(output[index])), None)
    if position is None:
        return ModelOutput(conversation(output), None, [])
    message, rest = output[position], output[position + 1 :]
    content = message.get("content")
    texts = texts_of(content)
    text = "".join(texts)  # as OpenAI's own `output_text` joins them
    (chat_message,) = _messages(message, position)
    calls = [_call(call) for call in chat_message.get("tool_calls") or ()]  # chat form has them beside the text
    after = _join_calls([*calls, *conversation(rest)])
    has_only_other_content = not text and (after or (isinstance(content, list) and len(texts) < len(content)))
    if not texts or has_only_other_content:
        return ModelOutput(conversation(output), None, [])
    return ModelOutput(conversation(output[:position]), text, after)


def _last_turn(output: Sequence[Any]) -> range:
    """The positions of the model's last consecutive items: no tool result or other speaker's message is among them."""
    end = len(output)
    while end and not _is_by_model(output[end - 1]):
        end -= 1
    start = end
    while start and _is_by_model(output[start - 1]):
        start -= 1
    return range(start, end)


def _is_by_model(item: Any) -> bool:
    """Whether the model wrote the item. An item without a role is the model's, unless it is an output of a tool."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    return is_assistant(item["role"]) if "role" in item else isinstance(kind, str) and not kind.endswith("_output")


def _is_answer(item: dict[str, Any]) -> bool:
    """Whether an item of the model is a message, typed or not, with more than tool calls in chat form."""
    is_message = item.get("type", "message") == "message"
    return is_message and not (item.get("content") is None and bool(item.get("tool_calls")))


def _messages(item: Any, at: int) -> Iterable[dict[str, Any]]:
    place = f"Item {at}"
    if not isinstance(item, dict):
        raise UnmappedConversation("unknown_item", f"{place} is no object.")
    kind = item.get("type", "message" if "role" in item else None)
    if kind == "message":
        chat_members = {name: item[name] for name in KEPT if item.get(name)}
        message = {"role": item.get("role", "assistant"), "content": content_of(item.get("content")), **chat_members}
        return mapped([message], noun="Item", first=at)
    if kind == "reasoning":
        return []
    if kind == "function_call":
        return [_call(tool_call(item.get("name"), item.get("arguments"), place, **_id(item, "id")))]
    if kind == "custom_tool_call":
        custom = {"name": item.get("name"), "input": item.get("input")}
        return [_call({**_id(item, "id"), "type": "custom", "custom": custom})]
    if not isinstance(kind, str):
        raise UnmappedConversation("unknown_item", f"{place} has neither a role nor a type.")
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [{"role": "tool", **_id(item, "tool_call_id"), "content": _output(item.get("output"), place)}]
    return [{"role": "tool" if kind.endswith("_output") else "assistant", "content": [item]}]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _id(item: dict[str, Any], name: str) -> dict[str, str]:
    """The id of a call under another name, if it has one."""
    return {name: item["call_id"]} if isinstance(item.get("call_id"), str) else {}


def _output(value: Any, place: str) -> Any:
    content = content_of(value)
    return content if isinstance(content, (str, list, type(None))) else compact(content, place)


def _join_calls(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join consecutive calls into one message, since their results follow all of them."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        if joined and _only_calls(joined[-1]) and _only_calls(message):
            joined[-1] = {**joined[-1], "tool_calls": joined[-1]["tool_calls"] + message["tool_calls"]}
        else:
            joined.append(message)
    return joined


def _only_calls(message: dict[str, Any]) -> bool:
    return "tool_calls" in message and message.keys() == {"role", "content", "tool_calls"} and not message["content"]
