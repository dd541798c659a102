"""Convert rows to objects that can be encoded as JSON."""

import keyword
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from exports.structure import Column, ColumnKind, Columns, ColumnValues, RowBatch


class MessageObject(msgspec.Struct):
    role: str
    content: str


class ToolMessage(MessageObject):
    """A message with members for tools: `tool_calls` is JSON text; each is empty where a message has no value."""

    name: str
    tool_call_id: str
    tool_calls: str


MESSAGE_TYPES: dict[ColumnKind, type[MessageObject]] = {
    ColumnKind.MESSAGES: MessageObject,
    ColumnKind.TOOL_MESSAGES: ToolMessage,
}


def conversation(kind: ColumnKind, messages: Sequence[Sequence[bytes]]) -> list[MessageObject]:
    """Return the messages of one row as objects."""
    message_type = MESSAGE_TYPES[kind]
    return [message_type(*[text.decode() for text in message]) for message in messages]


class ObjectBuilder:
    """Builds the objects of rows, with members in the order of the columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._kinds: dict[Columns, Callable[..., Any]] = {}

    def of(self, batch: RowBatch) -> list[Any]:
        """Return an object for each row."""
        return self._rows(self._columns, batch.values)

    def _rows(self, columns: Columns, values_by_column: Sequence[ColumnValues]) -> list[Any]:
        if columns not in self._kinds:
            self._kinds[columns] = _kind([column.name for column in columns])
        values = (
            self._values(column, column_values) for column, column_values in zip(columns, values_by_column, strict=True)
        )
        return list(map(self._kinds[columns], *values))

    def _values(self, column: Column, values: ColumnValues) -> Sequence[Any]:
        match column.kind:
            case ColumnKind.TEXT:
                return [None if text is None else text.decode() for text in values]
            case ColumnKind.MOMENT:
                return moments(values)
            case ColumnKind.MESSAGES | ColumnKind.TOOL_MESSAGES:
                return [conversation(column.kind, row) for row in values]
            case ColumnKind.STRUCT:
                return self._rows(column.members, values)
        return values


def _kind(names: Sequence[str]) -> Callable[..., Any]:
    """Return what builds an object: a Struct, which is cheaper, or a dict if a name cannot be an attribute."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return msgspec.defstruct("Row", [(name, Any) for name in names])
    return lambda *values: dict(zip(names, values, strict=True))


def moments(values: ColumnValues) -> list[str]:
    """Format milliseconds since 1970 as `2026-11-28T01:02:03.456Z`."""
    import numpy as np  # imported on first use: a web process without exports saves the memory

    if not values:
        return []
    return [f"{text}Z" for text in np.datetime_as_string(np.array(values, "datetime64[ms]")).tolist()]
