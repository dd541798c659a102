"""Conversations: the list of messages that a completion answers.

A prompt is a conversation of one user message. The task's system prompt is the first message, unless the conversation
starts with its own system or developer message, which takes precedence.
"""

from collections.abc import Sequence
from typing import Any, Final

from tasks.states import ConversationShape

SYSTEM_ROLES: Final = frozenset({"system", "developer"})
RESULT_ROLES: Final = frozenset({"tool", "function"})  # of messages that hold what a tool returned
TEXT_PARTS: Final = ("text", "input_text", "output_text", None)  # types of parts; a part may have no type
TOOL_MEMBERS: Final = frozenset({"name", "tool_call_id", "tool_calls"})
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})  # values of a member without content
_PLAIN: Final = frozenset({"role", "content"})
_ORDER: Final = (
    ConversationShape.CHAT,
    ConversationShape.TOOLS,
    ConversationShape.PARTS,
)  # each form carries everything that the previous form carries


def form_of(messages: Sequence[dict[str, Any]] | None) -> ConversationShape:
    """The simplest form that carries the whole conversation.

    messages  as submitted; None for a prompt
    """
    if messages is None:
        return ConversationShape.PROMPT
    form = max((_form_of_message(message) for message in messages), key=_ORDER.index, default=ConversationShape.CHAT)
    if form == ConversationShape.CHAT and len(messages) == 1 and messages[0].get("role") == "user":
        return ConversationShape.PROMPT
    return form


def brings_system_prompt(messages: Sequence[Any] | None) -> bool:
    """Whether the first message is a system or developer message, which replaces the task's system prompt."""
    first = messages[0] if messages else None
    return isinstance(first, dict) and first.get("role") in SYSTEM_ROLES


def system_prompt_in_effect(messages: Sequence[dict[str, Any]] | None, system_prompt: str | None) -> str | None:
    """The task's system prompt, or None if it has none or the conversation has its own."""
    return None if not system_prompt or brings_system_prompt(messages) else system_prompt


def whole_conversation(
    prompt: str, messages: Sequence[dict[str, Any]] | None, system_prompt: str | None
) -> list[dict[str, Any]]:
    """All messages before the response, the system prompt in effect first."""
    conversation = [{"role": "user", "content": prompt}] if messages is None else list(messages)
    in_effect = system_prompt_in_effect(messages, system_prompt)
    return conversation if in_effect is None else [{"role": "system", "content": in_effect}, *conversation]


def text_of(content: Any) -> str:
    """The text of a message's content: the texts of several parts on separate lines; empty if there is none."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _form_of_message(message: dict[str, Any]) -> ConversationShape:
    content = message.get("content")
    if isinstance(content, list) and not all(map(_is_text, content)):
        return ConversationShape.PARTS
    members = message.keys() - _PLAIN
    nonempty = {name for name in members if message[name] not in _EMPTY} if members else members
    if nonempty - TOOL_MEMBERS or not _fits_tool_columns(message):
        return ConversationShape.PARTS
    return ConversationShape.TOOLS if nonempty or message.get("role") in RESULT_ROLES else ConversationShape.CHAT


def _is_text(part: dict[str, Any]) -> bool:
    """Whether a part holds only text, so that keeping the text loses nothing."""
    nonempty = {name for name, value in part.items() if value not in _EMPTY}
    return part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str) and nonempty <= {"type", "text"}


def _fits_tool_columns(message: dict[str, Any]) -> bool:
    """Whether `name` and `tool_call_id` are strings and `tool_calls` is a list, if they are present."""
    texts = (message.get("name"), message.get("tool_call_id"))
    return all(text in _EMPTY or isinstance(text, str) for text in texts) and isinstance(
        message.get("tool_calls") or [], list
    )
