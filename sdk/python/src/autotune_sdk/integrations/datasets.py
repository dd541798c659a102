"""Load scored completions as a Hugging Face `datasets.Dataset` (checked with datasets 5.2.0), without any hub.

from autotune_sdk.integrations.datasets import load_scores

rows = load_scores(task_id="task_…", min_reward=0.8)
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..client import AutotuneClient
from ..resources.scores import ExportOptions

if TYPE_CHECKING:
    from datasets import Dataset

DIMENSIONS = "dimensions"
TOOLS = "tools"  # columns of an export with tools=True
CONVERSATIONS = ("messages", "prompt", "completion", "chosen", "rejected")  # columns that then hold lists of messages
MESSAGE = ("role", "content", "name", "tool_call_id")


def load_scores(
    *,
    client: AutotuneClient | None = None,
    folder: str | os.PathLike[str] | None = None,
    job: bool = False,
    timeout_s: float | None = None,
    **options: Unpack[ExportOptions],
) -> Dataset:
    """Load scored answers, in the columns of the export's `layout`.

    With `dimensions=True` the column of that name is a struct, with a member for each name; without it there is none.
    With `tools=True` tool calls and the column `tools` are objects. A selection without rows keeps its columns.

    client   default: one made of AUTOTUNE_API_KEY and AUTOTUNE_BASE_URL
    folder   of the Parquet files and the cache of `datasets`, with unencrypted prompts and responses; default: a new
             temporary folder, which you must remove
    job      have the server write the files first, and resume interrupted downloads: for
             large sets. `timeout_s` is how long it may take to write them; None: as long as it takes
    options  the filters and options of `client.scores.export`, all but the format
    """
    from datasets import Dataset

    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="autotune-scores-"))
    place.mkdir(parents=True, exist_ok=True)
    speaker = client or AutotuneClient()
    try:
        if job:
            export = speaker.exports.wait(speaker.exports.create(format="parquet", **options).id, timeout_s)
            paths = [str(file.path) for file in speaker.exports.download(export, place)]
        else:
            paths = [str(speaker.scores.export(place / "scores.parquet", format="parquet", **options).path)]
    finally:
        if client is None:
            speaker.close()
    readable = _without_maps(paths)
    if not _rows_of(readable):
        return _with_tools(_empty(readable[0]))
    return _with_tools(Dataset.from_parquet(readable, cache_dir=str(place / "cache")))


def load_preferences(*, conversational: bool = False, tools: bool = False, **options: Any) -> Dataset:
    """Load preference pairs (`load_scores` with layout='preferences'): prompt, chosen and rejected, as DPO needs.

    tools  include rows with tool calls; implies `conversational`
    """
    return load_scores(
        layout="preferences", conversational=conversational or tools or None, tools=tools or None, **options
    )


def _rows_of(paths: list[str]) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(path).num_rows for path in paths)


def _empty(path: str) -> Dataset:
    """Return a data set without rows, with the columns of a file: `datasets` refuses to load a file without rows."""
    import pyarrow.parquet as pq
    from datasets import Dataset, Features

    features = Features.from_arrow_schema(pq.read_schema(path))
    return Dataset.from_dict({name: [] for name in features}, features=features)


def _with_tools(rows: Dataset) -> Dataset:
    """Convert tool calls and the column `tools` from the JSON text of an export into objects.

    Members that a message lacks are None. Older versions of `datasets` have no JSON type, and keep the text.
    """
    import datasets

    if TOOLS not in rows.column_names or not hasattr(datasets, "Json"):
        return rows
    features = rows.features.copy()
    features[TOOLS] = datasets.Json()
    for name in CONVERSATIONS:
        if name in features and isinstance(features[name], datasets.List):
            message = {member: datasets.Value("string") for member in MESSAGE} | {"tool_calls": datasets.Json()}
            features[name] = datasets.List(message)
    if not rows.num_rows:
        return datasets.Dataset.from_dict({name: [] for name in features}, features=features)
    return rows.map(_decoded, features=features)


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its JSON text as objects."""
    decoded: dict[str, Any] = {TOOLS: json.loads(row[TOOLS])}
    for name in CONVERSATIONS:
        if isinstance(row.get(name), list):
            decoded[name] = [_message(message) for message in row[name]]
    return decoded


def _message(message: dict[str, Any]) -> dict[str, Any]:
    calls = message["tool_calls"]
    return {
        "role": message["role"],
        "content": message["content"],
        "name": message["name"] or None,
        "tool_call_id": message["tool_call_id"] or None,
        "tool_calls": json.loads(calls) if calls else None,
    }


def _without_maps(paths: list[str]) -> list[str]:
    """Rewrite the files with dimensions as a struct of numbers, since `datasets` has no type for Arrow's maps.

    The struct has every name that occurs in any of the files; without one the column is left out. Rows are copied
    group by group, so memory holds one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(paths[0])
    column_index = schema.get_field_index(DIMENSIONS)
    if column_index < 0 or not pa.types.is_map(schema.field(column_index).type):
        return paths
    names = sorted({name for path in paths for name in _names(path)})
    kind = pa.struct([(name, pa.float64()) for name in names])
    changed = schema.set(column_index, pa.field(DIMENSIONS, kind)) if names else schema.remove(column_index)
    converted_paths = []
    for path in paths:
        target = str(Path(path).with_suffix(".loaded.parquet"))
        with pq.ParquetFile(path) as source, pq.ParquetWriter(target, changed) as writer:
            for group in range(source.num_row_groups):
                table = source.read_row_group(group)
                rows = table.column(column_index)
                table = table.remove_column(column_index)
                if names:
                    values = [None if dimensions is None else dict(dimensions) for dimensions in rows.to_pylist()]
                    table = table.add_column(column_index, changed.field(column_index), pa.array(values, kind))
                writer.write_table(table)
        converted_paths.append(target)
    return converted_paths


def _names(path: str) -> set[str]:
    """Return the names of dimensions that occur in a file."""
    import pyarrow.parquet as pq

    names: set[str] = set()
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=[DIMENSIONS]).column(0)
            for chunk in column.chunks:
                names.update(chunk.keys.unique().to_pylist())
    return names
