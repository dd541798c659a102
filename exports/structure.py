"""The structure of an export: a layout returns batches of columns, an encoder writes them as bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol
from uuid import UUID


class ColumnKind(Enum):
    """The type of a column, and how a batch stores its values.

    TEXT        bytes, UTF-8
    FLOAT       float, always written as a float
    INTEGER     int of 64 bits
    BOOLEAN     bool
    MOMENT      int, milliseconds since 1970 in UTC
    DIMENSIONS  dict of name -> float or None, with the same names on every row
    MESSAGES    list of (role, content), both bytes
    TOOL_MESSAGES  list of (role, content, name, tool_call_id, tool_calls), all bytes; empty where a message has none,
                `tool_calls` as JSON text
    STRUCT      a list of the members' sequences, in the order of `Column.members`; never null itself
    """

    TEXT = "text"
    FLOAT = "float"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    DIMENSIONS = "dimensions"
    MESSAGES = "messages"
    TOOL_MESSAGES = "tool_messages"
    STRUCT = "struct"


MESSAGE_MEMBERS = {
    ColumnKind.MESSAGES: ("role", "content"),
    ColumnKind.TOOL_MESSAGES: ("role", "content", "name", "tool_call_id", "tool_calls"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an export: its name and type, the same on every row.

    nullable  only for TEXT, FLOAT and DIMENSIONS
    repeats   many rows share a value: worth a dictionary in Parquet
    """

    name: str
    kind: ColumnKind
    nullable: bool = False
    members: tuple["Column", ...] = ()
    repeats: bool = False


Columns = tuple[Column, ...]
ColumnValues = Sequence[Any]


@dataclass(slots=True)
class RowBatch:
    """Consecutive rows of an export, stored column by column.

    values       a sequence for each column of the layout, in its order
    scores       the numbers for the data set's score distribution
    tasks        public ids of the tasks that the rows come from; `models`: names of their models
    versions     public ids of the rows' task versions that have a system prompt
    left_out     rows missing here because their text was erased or cannot be decrypted, or their conversation does
                 not fit
    reasons      counts of these by reason, without erased rows (exports/reading/left_out.py)
    first, last  the least and the greatest completion id in the rows
    cursor       where reading continues after this batch
    """

    values: list[ColumnValues]
    rows: int
    scores: Sequence[float] = ()
    tasks: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    left_out: int = 0
    first: UUID | None = None
    last: UUID | None = None
    cursor: str = ""
    versions: set[str] = field(default_factory=set)
    reasons: Mapping[str, int] = field(default_factory=dict)


class Layout(Protocol):
    """Reads the rows of an export in bounded ranges. It holds no connection while the caller works on a batch."""

    columns: Columns

    def batches(self, after: str = "") -> Iterator[RowBatch]:
        """Yield all rows, or those after a batch's `cursor`. A batch may have no rows."""

    def expected(self) -> int:
        """Estimate the number of rows quickly."""


class Encoder(Protocol):
    """Writes batches as one file. Use each encoder once."""

    media_type: str
    extension: str

    def encode(self, batches: Iterable[RowBatch]) -> Iterator[bytes]:
        """Yield the file in pieces. Its facts are complete after the last piece."""


def in_camel_case(columns: Columns) -> Columns:
    """Spell the names of columns, which are in snake case, in camel case."""
    return tuple(
        replace(column, name=_to_camel_case(column.name), members=in_camel_case(column.members)) for column in columns
    )


def _to_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)
