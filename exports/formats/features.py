"""The types of a file's columns as Hugging Face `datasets` writes them: `Features.from_dict` takes them as they are.

JSON says no types, so loaders guess them from the first megabytes of the first file: a column that is null there is of
the type null, and a number later is an error. Parquet and TFRecord need none.
"""

from collections.abc import Sequence
from typing import Any, Final

from exports.inputs import ExportQuery
from exports.shapes import MESSAGE_MEMBERS, Column, Kind, Schema

GUESSED: Final = ("jsonl", "json")  # formats whose types have to be said
_VALUES: Final = {
    Kind.TEXT: "string",
    Kind.FLOAT: "float64",
    Kind.INTEGER: "int64",
    Kind.BOOLEAN: "bool",
    Kind.MOMENT: "string",
}


def of(query: ExportQuery, schema: Schema, dimensions: Sequence[str]) -> dict[str, Any]:
    """`{"features": …}` for the files of a query, or nothing where the files say it themselves.

    dimensions  the names that every row has, if any were asked for
    """
    if query.format not in GUESSED:
        return {}
    return {"features": {column.name: _feature(column, dimensions) for column in schema}}


def _feature(column: Column, dimensions: Sequence[str]) -> Any:
    match column.kind:
        case Kind.STRUCT:
            return {member.name: _feature(member, dimensions) for member in column.members}
        case Kind.MESSAGES | Kind.TOOL_MESSAGES:
            return [{name: _value("string") for name in MESSAGE_MEMBERS[column.kind]}]
        case Kind.DIMENSIONS:
            return {name: _value("float64") for name in dimensions} if dimensions else _value("null")
    return _value(_VALUES[column.kind])


def _value(dtype: str) -> dict[str, str]:
    return {"dtype": dtype, "_type": "Value"}
