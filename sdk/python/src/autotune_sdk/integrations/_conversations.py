"""Convert chat messages of trainers into messages of the API: one conversation always has one form.

Reward endpoints do the same in the server (scores/live/protocols/conversations.py); a test keeps the two equal.
"""

from __future__ import annotations

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
TEXT_PARTS: Final = ("text", "input_text", "output_text")  # not a set: a type from outside may be unhashable


class UnmappedConversation(Exception):
    """A conversation that messages of the API cannot carry.

    code    unknown_role, unreadable_tool_call, unreadable_prompt or reserved_name
    reason  a sentence that names the place
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def mapped(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert messages to the roles of the API. Tool calls become `tool_calls`, tool results the role `tool`.

    Takes OpenAI's form (and its older `function_call`), ShareGPT's `from` and `value`, and the roles of ms-swift, veRL,
    LLaMA-Factory and others. Messages that only call tools and follow each other are one message with several calls.

    raises  UnmappedConversation
    """
    ours: list[dict[str, Any]] = []
    was_call = False
    for number, message in enumerate(messages):
        converted, is_call = _message(message, f"Message {number}")
        if is_call and was_call:
            ours[-1]["tool_calls"] += converted["tool_calls"]
        else:
            ours.append(converted)
        was_call = is_call
    return ours


def tool_call(name: Any, arguments: Any, place: str, **members: Any) -> dict[str, Any]:
    """Build a function call as OpenAI writes it; arguments other than text become JSON.

    raises  UnmappedConversation for a call without a name
    """
    if not isinstance(name, str) or not name:
        raise UnmappedConversation("unreadable_tool_call", f"{place} calls a tool without a name.")
    text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments, place)
    return {**members, "type": "function", "function": {"name": name, "arguments": text}}


def compact(value: Any, place: str) -> str:
    """Encode a value as JSON without spaces, with members in their order.

    raises  UnmappedConversation for a value that JSON cannot represent
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise UnmappedConversation("unreadable_tool_call", f"{place} holds a value that JSON cannot carry.") from None


def _message(message: Mapping[str, Any], place: str) -> tuple[dict[str, Any], bool]:
    """Return the converted message, and whether it only calls tools."""
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
        return _result(message, place), False
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
    if not isinstance(calls, list | tuple) or not all(isinstance(call, Mapping) for call in calls):
        raise UnmappedConversation("unreadable_tool_call", f"{place} has tool_calls that are not a list of objects.")
    return calls


def _is_flat(call: Any) -> bool:
    """Convert a call with its name beside its type, as verifiers and LangChain write it."""
    return (
        isinstance(call, Mapping)
        and "name" in call
        and call.get("type", "function") in FLAT_CALLS
        and ("function" not in call)
    )


def _call_message(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Convert a message whose content is one or more calls: objects with name and arguments, or their JSON."""
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
    """Convert one call or a list of calls; raises UnmappedConversation for anything else."""
    listed = calls if isinstance(calls, list) else [calls]
    if not listed:
        raise UnmappedConversation("unreadable_tool_call", f"{place} calls no tool.")
    for call in listed:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise UnmappedConversation("unreadable_tool_call", f"{place} calls a tool in a form that is not known.")
        members = {"id": call["id"]} if isinstance(call.get("id"), str) else {}
        arguments = next((function[word] for word in ARGUMENTS if function.get(word) is not None), None)
        yield tool_call(function.get("name"), arguments, place, **members)


def _result(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Convert the result of a tool; content other than text and parts becomes JSON."""
    content = message.get("content")
    if not isinstance(content, (str, list, type(None))):
        content = compact(content, place)
    return {**message, "role": "tool", "content": content}
