"""Convert trainers' chat messages to the form that intake accepts, so that each conversation has one spelling.

The SDK does the same before it sends (sdk/python, integrations/_conversations.py); a test compares the two.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

TOOL_RESULTS: Final = frozenset(
    {
        "tool", "function", "tool_response", "tool_result", "tool_output", "function_response", "function_output",
        "observation", "ipython", "environment",
    }
)  # fmt: skip
TOOL_CALLS: Final = frozenset({"tool_call", "tool_calls", "function_call"})
ARGUMENTS: Final = ("arguments", "parameters", "args")
FLAT_CALLS: Final = ("function", "tool_call", None)
SPEAKERS: Final[Mapping[str, str]] = {
    "system": "system", "developer": "developer",
    "user": "user", "human": "user", "prompter": "user",
    "assistant": "assistant", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant", "chatbot": "assistant",
    "ai": "assistant", "model": "assistant",
}  # fmt: skip
TEXT_PARTS: Final = ("text", "input_text", "output_text")  # no set: a type in a request may be unhashable


class UnmappedConversation(Exception):
    """A conversation that cannot be converted to Autotune's messages.

    code    unknown_role, unreadable_tool_call, unknown_item or reserved_name
    reason  a sentence that names the location
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def mapped(messages: Sequence[Mapping[str, Any]], *, noun: str = "Message", first: int = 0) -> list[dict[str, Any]]:
    """Convert messages to Autotune's roles. Tool calls become `tool_calls`, their results messages of the role `tool`.

    Accepts OpenAI's form (with the older `function_call`), ShareGPT's `from` and `value`, and the roles of ms-swift,
    veRL, LLaMA-Factory and others. Consecutive messages that only call tools become one message with several calls.

    noun, first  how a reason names the messages
    raises       UnmappedConversation
    """
    converted: list[dict[str, Any]] = []
    was_call = False
    for number, message in enumerate(messages, first):
        current, is_call = _message(message, f"{noun} {number}")
        if is_call and was_call:
            converted[-1]["tool_calls"] += current["tool_calls"]
        else:
            converted.append(current)
        was_call = is_call
    return converted


def is_assistant(role: Any) -> bool:
    """Whether a role is one of the names that trainers use for the model."""
    return isinstance(role, str) and SPEAKERS.get(role.strip().lower()) == "assistant"


def tool_call(name: Any, arguments: Any, place: str, **members: Any) -> dict[str, Any]:
    """Return a function call in OpenAI's form; arguments that are not text become their JSON.

    raises  UnmappedConversation for a call without a name
    """
    if not isinstance(name, str) or not name:
        raise UnmappedConversation("unreadable_tool_call", f"{place} calls a tool without a name.")
    text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments, place)
    return {**members, "type": "function", "function": {"name": name, "arguments": text}}


def content_of(parts: Any) -> Any:
    """Convert the content of an OpenAI Responses message to chat content: parts that are only text become one text.

    Other parts (images, files, refusals) stay as they are, beside the text parts. Invalid content stays as it is, so
    that intake refuses it and nobody reads it as an empty text.
    """
    if not isinstance(parts, list) or not parts:
        return parts
    chat_parts = [_part(part) for part in parts]
    texts = [part.get("text") if is_text_part(part) else None for part in chat_parts]
    if all(isinstance(text, str) for text in texts):
        return "\n".join(texts)  # type: ignore[arg-type]
    return chat_parts


def is_text_part(part: Any) -> bool:
    """Whether the type of a content part is text."""
    return isinstance(part, dict) and part.get("type", "text") in TEXT_PARTS


def texts_of(content: Any) -> list[str]:
    """Return all text of a content: the string, or its text parts. Empty if it has no readable text."""
    if isinstance(content, str):
        return [content]
    parts = [_part(part) for part in content] if isinstance(content, list) else []
    return [part["text"] for part in parts if is_text_part(part) and isinstance(part.get("text"), str)]


def compact(value: Any, place: str) -> str:
    """Return JSON without spaces, with the members in their order.

    raises  UnmappedConversation for a value that JSON cannot carry
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise UnmappedConversation("unreadable_tool_call", f"{place} holds a value that JSON cannot carry.") from None


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "text", "text": part.get("text")} if is_text_part(part) else part


def _message(message: Mapping[str, Any], place: str) -> tuple[dict[str, Any], bool]:
    """The converted message, and whether it is only a tool call."""
    if "role" not in message and isinstance(message.get("from"), str):  # ShareGPT
        rest = {name: value for name, value in message.items() if name not in ("from", "value")}
        message = {"role": message["from"], "content": message.get("value"), **rest}
    role = message.get("role")
    if not isinstance(role, str):
        raise UnmappedConversation("unknown_role", f"{place} has no role.")
    name = role.strip().lower().replace("-", "_").replace(" ", "_")
    if name in TOOL_CALLS:
        return _call_message({**message, "content": message.get("content")}, place), True
    if name in TOOL_RESULTS:
        return _result_message(message, place), False
    if name not in SPEAKERS:
        raise UnmappedConversation("unknown_role", f"{place} has the role {role[:60]!r}, which is not known.")
    converted = {**message, "role": SPEAKERS[name]}
    if "function_call" in converted and not converted.get("tool_calls"):
        call = converted.pop("function_call")
        if call is not None:
            converted["tool_calls"] = list(_calls(call, place))
    elif any(_is_flat(call) for call in _tool_calls(converted, place)):
        calls = [next(iter(_calls(call, place))) if _is_flat(call) else call for call in converted["tool_calls"]]
        converted["tool_calls"] = calls
    return converted, False


def _tool_calls(message: Mapping[str, Any], place: str) -> Sequence[Any]:
    calls = message.get("tool_calls")
    if calls is None:
        return ()
    if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
        raise UnmappedConversation("unreadable_tool_call", f"{place} has tool_calls that are not a list of objects.")
    return calls


def _is_flat(call: Any) -> bool:
    """Whether a call has its name beside its type, as verifiers and LangChain write it."""
    return (
        isinstance(call, Mapping)
        and "name" in call
        and call.get("type", "function") in FLAT_CALLS
        and ("function" not in call)
    )


def _call_message(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Convert a message whose content is one or several calls: objects with name and arguments, or their JSON."""
    calls = message["content"]
    if isinstance(calls, str):
        try:
            calls = json.loads(calls)
        except (ValueError, RecursionError):
            raise UnmappedConversation(
                "unreadable_tool_call", f"{place} calls a tool in a text that is not JSON."
            ) from None
    rest = {name: value for name, value in message.items() if name not in ("role", "content")}
    return {"role": "assistant", "content": None, **rest, "tool_calls": list(_calls(calls, place))}


def _calls(calls: Any, place: str) -> Iterable[dict[str, Any]]:
    """raises  UnmappedConversation for anything that is not a call"""
    call_list = calls if isinstance(calls, list) else [calls]
    if not call_list:
        raise UnmappedConversation("unreadable_tool_call", f"{place} calls no tool.")
    for call in call_list:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise UnmappedConversation("unreadable_tool_call", f"{place} calls a tool in a form that is not known.")
        members = {"id": call["id"]} if isinstance(call.get("id"), str) else {}
        arguments = next((function[name] for name in ARGUMENTS if function.get(name) is not None), None)
        yield tool_call(function.get("name"), arguments, place, **members)


def _result_message(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Convert the result of a tool; content other than text and parts becomes its JSON."""
    content = message.get("content")
    if not isinstance(content, (str, list, type(None))):
        content = compact(content, place)
    return {**message, "role": "tool", "content": content}
