"""Build conversations from prompts and answers, in UTF-8: as lists of messages, or as JSON text.

Each form starts with the system prompt in effect (tasks/conversations.py).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from autotune.core import ids
from autotune.core.connections import release
from exports.requests import ExportQuery
from exports.structure import Column, ColumnKind, Columns
from tasks.conversations import system_prompt_in_effect, text_of
from tasks.system_prompts import SystemPrompts

Turns = list[tuple[bytes, ...]]  # (role, content), or with name, tool_call_id and tool_calls

NO_TOOLS: Final = b"[]"
_NOTHING: Final = (b"", b"", b"")  # name, tool_call_id and tool_calls of a message without them


def kind_of(query: ExportQuery) -> ColumnKind:
    """Return the kind of a column of conversations."""
    if not query.conversational:
        return ColumnKind.TEXT
    return ColumnKind.TOOL_MESSAGES if query.tools else ColumnKind.MESSAGES


def tools_column(query: ExportQuery) -> Columns:
    """Return the column `tools`, if the query asks for it."""
    return (Column("tools", ColumnKind.TEXT, repeats=True),) if query.tools else ()


class Conversations:
    """Builds the conversations that precede the answers of many completions.

    `as_json` and `as_turns` take the task version (16 bytes), the prompt and the stored messages of each completion;
    messages are None where the prompt is the whole conversation.
    """

    def __init__(self) -> None:
        self.system_prompts = SystemPrompts()
        self._by_version: dict[bytes, str] = {}

    def learn(self, versions: Collection[bytes]) -> set[str]:
        """Read the versions' system prompts and return the public ids of the versions that have one.

        raises  Undecryptable if one is damaged: see `ranges.with_readable_version`
        """
        system_prompts = self.system_prompts.of([UUID(bytes=version) for version in set(versions)])
        release()
        self._by_version = {version.bytes: text for version, text in system_prompts.items()}
        return {ids.encode("taskv", version) for version in system_prompts}

    def as_json(
        self, versions: Sequence[bytes], prompts: Sequence[bytes], messages: Sequence[bytes | None]
    ) -> list[bytes]:
        """Return the conversations as JSON text, with their messages as submitted."""
        leads = self._leads()
        if not leads:
            return [
                _single_message(prompt) if stored is None else stored
                for prompt, stored in zip(prompts, messages, strict=True)
            ]
        return [
            _with_lead(leads.get(version), _single_message(prompt) if stored is None else stored)
            for version, prompt, stored in zip(versions, prompts, messages, strict=True)
        ]

    def as_turns(
        self,
        versions: Sequence[bytes],
        prompts: Sequence[bytes],
        messages: Sequence[bytes | None],
        *,
        tools: bool = False,
    ) -> list[Turns]:
        """Return the conversations as messages with a role and text.

        tools  include the name, the id and the calls of each message
        """
        rest = _NOTHING if tools else ()
        conversations: list[Turns] = []
        for version, prompt, stored in zip(versions, prompts, messages, strict=True):
            submitted = None if stored is None else msgspec.json.decode(stored)
            turns: Turns = (
                [(b"user", prompt, *rest)] if submitted is None else [_turn(turn, tools=tools) for turn in submitted]
            )
            in_effect = system_prompt_in_effect(submitted, self._by_version.get(version))
            conversations.append(turns if in_effect is None else [(b"system", in_effect.encode(), *rest), *turns])
        return conversations

    def _leads(self) -> dict[bytes, bytes]:
        """Return the start of a conversation's JSON text, by version."""
        return {
            version: b'[{"role":"system","content":' + msgspec.json.encode(text) + b"},"
            for version, text in self._by_version.items()
        }


def answers(texts: Sequence[bytes], *, tools: bool = False) -> list[Turns]:
    """Return each answer as a single turn of the assistant."""
    rest = _NOTHING if tools else ()
    return [[(b"assistant", text, *rest)] for text in texts]


def tools_of(metadata: Sequence[bytes | None]) -> list[bytes]:
    """Return the tools offered to each completion, from its metadata: a list of JSON Schemas as JSON text."""
    offered = (_offered(msgspec.json.decode(stored)) if stored else None for stored in metadata)
    return [NO_TOOLS if tools is None else msgspec.json.encode(tools) for tools in offered]


def _offered(metadata: Mapping[str, Any]) -> list[Any] | None:
    tools = metadata.get("tools")
    return tools if isinstance(tools, list) else None


def _single_message(prompt: bytes) -> bytes:
    return b'[{"role":"user","content":' + msgspec.json.encode(prompt.decode()) + b"}]"


def _with_lead(lead: bytes | None, conversation: bytes) -> bytes:
    """Put a system prompt before the JSON text of a conversation, unless that starts with its own."""
    if lead is None or system_prompt_in_effect(msgspec.json.decode(conversation), "its own") is None:
        return conversation
    return lead + conversation[1:]


def _turn(message: dict[str, Any], *, tools: bool) -> tuple[bytes, ...]:
    turn = (message["role"].encode(), text_of(message.get("content")).encode())
    if not tools:
        return turn
    calls = message.get("tool_calls")
    return (
        *turn,
        (message.get("name") or "").encode(),
        (message.get("tool_call_id") or "").encode(),
        msgspec.json.encode(calls) if calls else b"",
    )
