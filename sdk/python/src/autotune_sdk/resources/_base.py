"""The base class of all resources: lists, pages, ids in paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

from .. import _wire
from .._transport import Transport
from ..errors import UnexpectedAnswer
from ..models.pages import Page

T = TypeVar("T")


class Resource:
    """A resource of the API, called through a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _page(self, path: str, plural: str, kind: type[T], parameters: Mapping[str, Any]) -> Page[T]:
        def following(page: Page[T]) -> Page[T] | None:
            if (place := _place_after(page)) is None:
                return None
            return self._page(path, plural, kind, {**parameters, "offset": None, "cursor": None, **place})

        answer = self._transport.get(path, parameters)
        rows, pagination = member(answer, plural), member(answer, "pagination")
        return Page(
            items=tuple(_wire.decode(kind, row) for row in rows),
            limit=pagination.get("limit"),
            offset=pagination.get("offset"),
            total=pagination.get("total"),
            next_cursor=pagination.get("nextCursor"),
            total_is_lower_bound=bool(pagination.get("totalIsLowerBound")),
            following=following,
        )


def _place_after(page: Page[Any]) -> dict[str, Any] | None:
    """Return the list parameters of the page after this one; None after the last."""
    if page.next_cursor is not None:
        return {"cursor": page.next_cursor}
    if page.offset is None or not page.items:
        return None
    offset = page.offset + len(page.items)
    return {"offset": offset} if page.total is not None and offset < page.total else None


def member(answer: Any, name: str) -> Any:
    """Return a member that every such response has."""
    if not isinstance(answer, dict) or name not in answer:
        raise UnexpectedAnswer(f"the response has no {name!r}; check that base_url is an Autotune server")
    return answer[name]


def segment(identifier: str) -> str:
    """Encode an id as one segment of a path."""
    if not identifier or identifier in (".", ".."):
        raise ValueError("the id must not be empty")
    return quote(identifier, safe="")


def new_key() -> str:
    """Create a unique idempotency key."""
    return str(uuid4())


def wire_members(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are not None by wire name: on creation an absent member equals a null."""
    return {_wire.camel(name): value for name, value in parameters.items() if value is not None}
