"""Whether a conversation brings its own system prompt, or has that of its task."""

from collections.abc import Sequence
from typing import Any, Final

INSTRUCTING_ROLES: Final = frozenset({"system", "developer"})


def begins_with_one(messages: Sequence[Any] | None) -> bool:
    """Whether the first message is a system or developer message, which wins over the task's system prompt."""
    first = messages[0] if messages else None
    return isinstance(first, dict) and first.get("role") in INSTRUCTING_ROLES
