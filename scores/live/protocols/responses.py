"""Items of OpenAI's Responses, in and out, as the chat messages and the one text that are judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scores.live.protocols.conversations import (
    Unmapped,
    compact,
    content_of,
    is_assistant,
    mapped,
    texts_of,
    tool_call,
)

KEPT: Final = ("name", "tool_call_id", "tool_calls", "function_call")  # members of messages in chat form


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model gave back.

    before  chat messages of what it did first: calls of tools, their results, earlier messages
    text    of the last message in its last turn; None where that has no text, or the turn has no message
    after   chat messages of what came after the text: calls of the same turn, and their results
    """

    before: list[dict[str, Any]]
    text: str | None
    after: list[dict[str, Any]]


def conversation(items: Sequence[Any]) -> list[dict[str, Any]]:
    """Chat messages of items. Reasoning is left out; an item of another kind stands as a part, as it is.

    raises  Unmapped for an item that is neither a message nor has a type
    """
    converted = [one for at, item in enumerate(items) for one in _messages(item, at)]
    return _joined(converted)


def reply(output: Sequence[Any]) -> Reply:
    """The parts of a response's `output`. `type` is optional on messages, as it is in the input form.

    raises  Unmapped
    """
    place = next((at for at in reversed(_last_turn(output)) if _is_answer(output[at])), None)
    if place is None:
        return Reply(conversation(output), None, [])
    message, rest = output[place], output[place + 1 :]
    content = message.get("content")
    texts = texts_of(content)
    text = "".join(texts)  # as OpenAI's own `output_text` joins them
    calls = [_call(call) for call in message.get("tool_calls") or ()]  # in chat form: beside the text
    after = _joined([*calls, *conversation(rest)])
    says_nothing = not text and (after or (isinstance(content, list) and len(texts) < len(content)))
    if not texts or says_nothing:
        return Reply(conversation(output), None, [])
    return Reply(conversation(output[:place]), text, after)


def _last_turn(output: Sequence[Any]) -> range:
    """The places of the model's last items, with no result of a tool and nobody else's message between them."""
    end = len(output)
    while end and not _is_models(output[end - 1]):
        end -= 1
    start = end
    while start and _is_models(output[start - 1]):
        start -= 1
    return range(start, end)


def _is_models(item: Any) -> bool:
    """Whether the model made the item; one that names no role is its own."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    return is_assistant(item["role"]) if "role" in item else isinstance(kind, str) and not kind.endswith("_output")


def _is_answer(item: dict[str, Any]) -> bool:
    """Whether an item of the model is a message, typed or not, and not only calls of tools in chat form."""
    is_message = item.get("type", "message") == "message"
    return is_message and not (item.get("content") is None and bool(item.get("tool_calls")))


def _messages(item: Any, at: int) -> Iterable[dict[str, Any]]:
    place = f"Item {at}"
    if not isinstance(item, dict):
        raise Unmapped("unknown_item", f"{place} is no object.")
    kind = item.get("type", "message" if "role" in item else None)
    if kind == "message":
        kept = {name: item[name] for name in KEPT if item.get(name)}
        message = {"role": item.get("role", "assistant"), "content": content_of(item.get("content")), **kept}
        return mapped([message], noun="Item", first=at)
    if kind == "reasoning":
        return []
    if kind == "function_call":
        return [_call(tool_call(item.get("name"), item.get("arguments"), place, **_id(item, "id")))]
    if kind == "custom_tool_call":
        custom = {"name": item.get("name"), "input": item.get("input")}
        return [_call({**_id(item, "id"), "type": "custom", "custom": custom})]
    if not isinstance(kind, str):
        raise Unmapped("unknown_item", f"{place} has neither a role nor a type.")
    if kind in ("function_call_output", "custom_tool_call_output"):
        return [{"role": "tool", **_id(item, "tool_call_id"), "content": _output(item.get("output"), place)}]
    return [{"role": "tool" if kind.endswith("_output") else "assistant", "content": [item]}]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _id(item: dict[str, Any], name: str) -> dict[str, str]:
    """The id of a call under another name, where it has one."""
    return {name: item["call_id"]} if isinstance(item.get("call_id"), str) else {}


def _output(value: Any, place: str) -> Any:
    content = content_of(value)
    return content if isinstance(content, (str, list, type(None))) else compact(content, place)


def _joined(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls that follow each other are one message: their results come after all of them."""
    ours: list[dict[str, Any]] = []
    for message in messages:
        if ours and _only_calls(ours[-1]) and _only_calls(message):
            ours[-1] = {**ours[-1], "tool_calls": ours[-1]["tool_calls"] + message["tool_calls"]}
        else:
            ours.append(message)
    return ours


def _only_calls(message: dict[str, Any]) -> bool:
    return "tool_calls" in message and message.keys() == {"role", "content", "tool_calls"} and not message["content"]
