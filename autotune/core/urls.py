"""Path converters: `<task:task_id>` accepts a well-formed `task_…` id and returns its UUID; anything else is 404."""

from uuid import UUID

from django.urls import register_converter

from autotune.core import ids

KINDS = (
    "org", "user", "role", "key", "task", "taskv", "comp", "run", "score", "grader", "graderv",
    "whk", "evt", "dlv", "rev", "member", "aud", "ers", "hold", "exp", "rwd",
)  # fmt: skip


def register() -> None:
    """Register a converter for each kind of public id; called once by the root URL configuration."""
    for kind in KINDS:
        register_converter(_converter(kind), kind)


def _converter(kind: str) -> type:
    class Converter:
        regex = f"{kind}_{ids.SUFFIX}"

        def to_python(self, value: str) -> UUID:
            return ids.decode(kind, value)

        def to_url(self, value: UUID | str) -> str:
            return value if isinstance(value, str) else ids.encode(kind, value)

    return Converter
