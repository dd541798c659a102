"""Read a submitted batch. If it is invalid, read it item by item, so that the error has a pointer for each bad item."""

from typing import Any

from django.conf import settings

from autotune.core.api import parsing
from autotune.core.errors import FieldError, Invalid
from scores.intake.outcomes import RefusedItem
from scores.intake.requests import NewBatch, NewCompletion

_MEMBERS = frozenset(NewBatch.__struct_encode_fields__)


def read(body: Any) -> tuple[dict[int, NewCompletion], list[RefusedItem], str | None]:
    """Return the readable items by index, the refused items, and the batch's priority.

    raises Invalid if the body is not a batch, or has no items or too many
    """
    if not isinstance(body, dict):
        raise Invalid.field("", "wrong_type", "must be an object with `completions`.")
    for name in body:
        if name not in _MEMBERS:
            raise Invalid.field(f"/{parsing.escape(name)}", "unknown_field", "there is no such member.")
    listed = body.get("completions")
    if not isinstance(listed, list):
        raise Invalid.field("/completions", "wrong_type", "must be a list of completions.")
    limit = settings.MAX_BATCH_COMPLETIONS
    if not 1 <= len(listed) <= limit:
        raise Invalid.field("/completions", "invalid_length", f"give 1 to {limit} completions.")
    priority = parsing.convert({**body, "completions": [_STAND_IN]}, NewBatch).priority
    good, bad = parsing.convert_each(listed, NewCompletion, "/completions")
    return good, [RefusedItem(_index(error), 400, error) for error in bad], priority


_STAND_IN = {"taskId": "task_00000000000000000000000000", "modelId": "m", "response": ""}


def _index(error: FieldError) -> int:
    """The index of the item that an error's pointer names."""
    return int(error.pointer.split("/")[2])
