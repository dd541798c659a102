"""Prompts and answers as conversations: lists of (role, content), in UTF-8."""

from collections.abc import Sequence
from typing import Any

import msgspec

Turns = list[tuple[bytes, bytes]]


def prompts(texts: Sequence[bytes], messages: Sequence[bytes | None]) -> list[Turns]:
    """The messages before each answer, as they were submitted; a prompt that is one text is what a user says."""
    return [
        [(b"user", text)] if given is None else [_turn(one) for one in msgspec.json.decode(given)]
        for text, given in zip(texts, messages, strict=True)
    ]


def answers(texts: Sequence[bytes]) -> list[Turns]:
    """Each answer as the one turn of the assistant."""
    return [[(b"assistant", text)] for text in texts]


def _turn(message: dict[str, Any]) -> tuple[bytes, bytes]:
    """Its text alone: of several parts the texts, one a line; nothing beside a tool call."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return message["role"].encode(), (content or "").encode()
