"""Rows as objects that JSON can be made of."""

import keyword
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from exports.structure import Batch, Column, Kind, Schema, Values


class Message(msgspec.Struct):
    role: str
    content: str


class ToolMessage(Message):
    """A message with members for tools: `tool_calls` is JSON text; each is empty where a message has no value."""

    name: str
    tool_call_id: str
    tool_calls: str


MESSAGE_TYPES: dict[Kind, type[Message]] = {Kind.MESSAGES: Message, Kind.TOOL_MESSAGES: ToolMessage}


def conversation(kind: Kind, messages: Sequence[Sequence[bytes]]) -> list[Message]:
    """The messages of one row as objects."""
    message_type = MESSAGE_TYPES[kind]
    return [message_type(*[text.decode() for text in message]) for message in messages]


class Objects:
    """Makes the objects of one schema; members come in its order."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._kinds: dict[Schema, Callable[..., Any]] = {}

    def of(self, batch: Batch) -> list[Any]:
        """An object for each row."""
        return self._rows(self._schema, batch.columns)

    def _rows(self, schema: Schema, columns: Sequence[Values]) -> list[Any]:
        if schema not in self._kinds:
            self._kinds[schema] = _kind([column.name for column in schema])
        values = (self._values(column, given) for column, given in zip(schema, columns, strict=True))
        return list(map(self._kinds[schema], *values))

    def _values(self, column: Column, given: Values) -> Sequence[Any]:
        match column.kind:
            case Kind.TEXT:
                return [None if text is None else text.decode() for text in given]
            case Kind.MOMENT:
                return moments(given)
            case Kind.MESSAGES | Kind.TOOL_MESSAGES:
                return [conversation(column.kind, row) for row in given]
            case Kind.STRUCT:
                return self._rows(column.members, given)
        return given


def _kind(names: Sequence[str]) -> Callable[..., Any]:
    """What makes an object of values: a Struct, which costs less, or a dict where a name is none of an attribute."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return msgspec.defstruct("Row", [(name, Any) for name in names])
    return lambda *values: dict(zip(names, values, strict=True))


def moments(values: Values) -> list[str]:
    """`2026-11-28T01:02:03.456Z` of milliseconds since 1970."""
    import numpy as np  # on first use: a web process that exports nothing does not carry it

    if not values:
        return []
    return [f"{text}Z" for text in np.datetime_as_string(np.array(values, "datetime64[ms]")).tolist()]
