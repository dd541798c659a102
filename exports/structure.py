"""What an export is made of: a layout gives batches of columns, a format makes octets of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol
from uuid import UUID


class Kind(Enum):
    """What a column holds, and as what a batch has it.

    TEXT        bytes, UTF-8
    FLOAT       float, written as one always
    INTEGER     int of 64 bits
    BOOLEAN     bool
    MOMENT      int, milliseconds since 1970 in UTC
    DIMENSIONS  dict of name -> float or None, with the same names on every row
    MESSAGES    list of (role, content), bytes both
    TOOL_MESSAGES  list of (role, content, name, tool_call_id, tool_calls), bytes all; empty where a message has none,
                the last as JSON text
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
    Kind.MESSAGES: ("role", "content"),
    Kind.TOOL_MESSAGES: ("role", "content", "name", "tool_call_id", "tool_calls"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, the same on every row.

    nullable  TEXT, FLOAT and DIMENSIONS alone
    repeats   many rows share a value: worth a dictionary in Parquet
    """

    name: str
    kind: Kind
    nullable: bool = False
    members: tuple["Column", ...] = ()
    repeats: bool = False


Schema = tuple[Column, ...]
Values = Sequence[Any]


@dataclass(slots=True)
class Batch:
    """Some rows, column by column.

    columns      a sequence for each column of the schema, in its order
    scores       the numbers that the data set's distribution is made of
    tasks        public ids, and `models` names, of what the rows come from
    versions     public ids of the rows' task versions that have a system prompt
    left_out     rows missing here because their text was erased or cannot be decrypted, or their conversation does
                 not fit
    reasons      counts of these by reason, without erased rows (exports/reading/left_out.py)
    first, last  the least and the greatest completion id in the rows
    cursor       where reading goes on behind this batch
    """

    columns: list[Values]
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
    """The rows of an export. Reads in bounded ranges; no connection is held while a batch is out."""

    schema: Schema

    def batches(self, after: str = "") -> Iterator[Batch]:
        """All rows, or those behind a batch's `cursor`. A batch may be without rows."""

    def expected(self) -> int:
        """How many rows there will be about, counted quickly."""


class Encoder(Protocol):
    """Makes one file of batches. Used once."""

    media_type: str
    extension: str

    def encode(self, batches: Iterable[Batch]) -> Iterator[bytes]:
        """The file in pieces; what its facts are is known at the end."""


def named(schema: Schema, naming: str) -> Schema:
    """The schema in the spelling that was asked for: `snake` as it is, or `camel`."""
    if naming != "camel":
        return schema
    return tuple(replace(one, name=_camel(one.name), members=named(one.members, naming)) for one in schema)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)
