"""Describe the types of a file's columns as Hugging Face `datasets` does: `Features.from_dict` accepts them unchanged.

JSON has no column types, so loaders guess them from the first megabytes of the first file: a column that is null there
gets the type null, and a later number is an error. Parquet and TFRecord need no such description.
"""

from collections.abc import Sequence
from typing import Any, Final

from exports.requests import ExportQuery
from exports.structure import MESSAGE_MEMBERS, Column, ColumnKind, Columns

GUESSED: Final = ("jsonl", "json")  # formats that do not carry column types
_VALUES: Final = {
    ColumnKind.TEXT: "string",
    ColumnKind.FLOAT: "float64",
    ColumnKind.INTEGER: "int64",
    ColumnKind.BOOLEAN: "bool",
    ColumnKind.MOMENT: "string",
}


def of(query: ExportQuery, columns: Columns, dimensions: Sequence[str]) -> dict[str, Any]:
    """Return `{"features": …}` for the files of a query, or {} if the files carry their types.

    dimensions  the names on every row, if the query asks for any
    """
    if query.format not in GUESSED:
        return {}
    return {"features": {column.name: _feature(column, dimensions) for column in columns}}


def _feature(column: Column, dimensions: Sequence[str]) -> Any:
    match column.kind:
        case ColumnKind.STRUCT:
            return {member.name: _feature(member, dimensions) for member in column.members}
        case ColumnKind.MESSAGES | ColumnKind.TOOL_MESSAGES:
            return [{name: _value("string") for name in MESSAGE_MEMBERS[column.kind]}]
        case ColumnKind.DIMENSIONS:
            return {name: _value("float64") for name in dimensions} if dimensions else _value("null")
    return _value(_VALUES[column.kind])


def _value(dtype: str) -> dict[str, str]:
    return {"dtype": dtype, "_type": "Value"}
