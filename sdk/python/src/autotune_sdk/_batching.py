"""Split completions into requests within the API's limits: 10,000 items and 32 MiB."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from . import _wire
from .errors import FieldError
from .errors import field_error as error_of

__all__ = ["Batch", "error_of", "shifted", "split", "wire_item"]

MAX_ITEMS = 10_000
MAX_BODY = 32 * 1024 * 1024
HEAD, TAIL = b'{"completions":[', b"]}"
ITEM_POINTER = re.compile(r"(/completions)?/(\d+)(?=/|$)")
NAMES = {
    _wire.camel(name): name
    for name in (
        "task_id",
        "model_id",
        "prompt",
        "messages",
        "variables",
        "response",
        "external_id",
        "metadata",
        "priority",
        "not_before",
        "held_out",
    )
}


@dataclass(frozen=True)
class Batch:
    """One request. first: index of its first item in the whole sequence."""

    body: bytes
    first: int
    count: int


def wire_item(item: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Convert one completion to the API's form. Names may be snake_case or camelCase; None values are omitted.

    raises  TypeError for a name that a completion does not have
    """
    out = dict(defaults or {})
    for name, value in item.items():
        wire = _wire.camel(name)
        if wire not in NAMES:
            raise TypeError(f"a completion has no {name!r}; use one of {', '.join(NAMES.values())}")
        if value is not None:
            out[wire] = _wire.time_text(value) if isinstance(value, date) else value
    return out


def split(items: Iterable[Mapping[str, Any]], defaults: Mapping[str, Any], priority: str | None) -> Iterator[Batch]:
    """Yield the requests for a sequence of completions, in order."""
    tail = b'],"priority":' + _wire.dumps(priority) + b"}" if priority is not None else TAIL
    room = MAX_BODY - len(HEAD) - len(tail)
    parts: list[bytes] = []
    size, first = 0, 0
    for item in items:
        part = _wire.dumps(wire_item(item, defaults))
        if parts and (len(parts) == MAX_ITEMS or size + len(part) + 1 > room):
            yield Batch(HEAD + b",".join(parts) + tail, first, len(parts))
            first, parts, size = first + len(parts), [], 0
        parts.append(part)
        size += len(part) + 1
    if parts:
        yield Batch(HEAD + b",".join(parts) + tail, first, len(parts))


def shifted(error: FieldError, first: int) -> FieldError:
    """Return the error of one request with the item's index in the whole sequence."""
    match = ITEM_POINTER.match(error.pointer)
    index = error.index if error.index is not None else int(match[2]) if match else None
    pointer = error.pointer
    if match:
        pointer = f"{match[1] or ''}/{int(match[2]) + first}{error.pointer[match.end() :]}"
    return replace(error, pointer=pointer, index=None if index is None else index + first)
