"""Prompts and answers as conversations, in UTF-8: as lists of messages, or as JSON text.

Every way out begins with the system prompt in effect (tasks/conversations.py).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from autotune.core import ids
from autotune.core.connections import release
from exports.inputs import ExportQuery
from exports.shapes import Column, Kind, Schema
from tasks.conversations import system_prompt_in_effect, text_of
from tasks.system_prompts import SystemPrompts

Turns = list[tuple[bytes, ...]]  # (role, content), or with name, tool_call_id and tool_calls

NO_TOOLS: Final = b"[]"
_NOTHING: Final = (b"", b"", b"")  # name, tool_call_id and tool_calls of a message that has none


def kind_of(query: ExportQuery) -> Kind:
    """What a column of conversations holds."""
    if not query.conversational:
        return Kind.TEXT
    return Kind.TOOL_MESSAGES if query.tools else Kind.MESSAGES


def tools_column(query: ExportQuery) -> Schema:
    """The column `tools`, where it was asked for."""
    return (Column("tools", Kind.TEXT, repeats=True),) if query.tools else ()


class Conversations:
    """The conversations before the answers of many completions.

    Each method takes as many task versions (16 octets), prompts and messages as stored (None: the prompt is all).
    """

    def __init__(self) -> None:
        self._system_prompts = SystemPrompts()
        self._by_version: dict[bytes, str] = {}

    def learn(self, versions: Collection[bytes]) -> set[str]:
        """Read the versions' system prompts. Public ids of those that have one.

        raises  Undecryptable
        """
        read = self._system_prompts.of([UUID(bytes=version) for version in set(versions)])
        release()
        self._by_version = {version.bytes: text for version, text in read.items()}
        return {ids.encode("taskv", version) for version in read}

    def as_json(
        self, versions: Sequence[bytes], prompts: Sequence[bytes], messages: Sequence[bytes | None]
    ) -> list[bytes]:
        """Each as JSON text, its messages as they were submitted."""
        leads = self._leads()
        if not leads:
            return [
                _one_message(prompt) if stored is None else stored
                for prompt, stored in zip(prompts, messages, strict=True)
            ]
        return [
            _led(leads.get(version), _one_message(prompt) if stored is None else stored)
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
        """Each as messages of a role and a text.

        tools  with the name, the id and the calls of each message
        """
        rest = _NOTHING if tools else ()
        conversations: list[Turns] = []
        for version, prompt, stored in zip(versions, prompts, messages, strict=True):
            submitted = None if stored is None else msgspec.json.decode(stored)
            turns: Turns = (
                [(b"user", prompt, *rest)] if submitted is None else [_turn(one, tools=tools) for one in submitted]
            )
            in_effect = system_prompt_in_effect(submitted, self._by_version.get(version))
            conversations.append(turns if in_effect is None else [(b"system", in_effect.encode(), *rest), *turns])
        return conversations

    def _leads(self) -> dict[bytes, bytes]:
        """What the JSON text of a conversation begins with, by version."""
        return {
            version: b'[{"role":"system","content":' + msgspec.json.encode(text) + b"},"
            for version, text in self._by_version.items()
        }


def answers(texts: Sequence[bytes], *, tools: bool = False) -> list[Turns]:
    """Each answer as the one turn of the assistant."""
    rest = _NOTHING if tools else ()
    return [[(b"assistant", text, *rest)] for text in texts]


def tools_of(metadata: Sequence[bytes | None]) -> list[bytes]:
    """The tools that each completion was offered, by its metadata: a list of JSON Schemas as JSON text."""
    offered = (_offered(msgspec.json.decode(stored)) if stored else None for stored in metadata)
    return [NO_TOOLS if tools is None else msgspec.json.encode(tools) for tools in offered]


def _offered(metadata: Mapping[str, Any]) -> list[Any] | None:
    tools = metadata.get("tools")
    return tools if isinstance(tools, list) else None


def _one_message(prompt: bytes) -> bytes:
    return b'[{"role":"user","content":' + msgspec.json.encode(prompt.decode()) + b"}]"


def _led(lead: bytes | None, conversation: bytes) -> bytes:
    """The JSON text of a conversation behind a system prompt, unless it begins with its own."""
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
