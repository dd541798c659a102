"""Hugging Face datasets: what was scored as a `datasets.Dataset` (checked with datasets 5.2.0). Nothing goes to a hub.

from autotune_sdk.integrations.datasets import load_scores

rows = load_scores(task_id="task_…", min_reward=0.8)
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..client import AutotuneClient
from ..resources.scores import ExportOptions

if TYPE_CHECKING:
    from datasets import Dataset

DIMENSIONS = "dimensions"


def load_scores(
    *,
    client: AutotuneClient | None = None,
    folder: str | os.PathLike[str] | None = None,
    job: bool = False,
    timeout_s: float | None = None,
    **options: Unpack[ExportOptions],
) -> Dataset:
    """Loads scored answers, or what another `layout` makes of them, in the columns that the export has.

    With `dimensions=True` the column of that name is a struct, with a member for each name; without it there is none.

    client   default: one made of AUTOTUNE_API_KEY and AUTOTUNE_BASE_URL
    folder   where the Parquet files and the cache of `datasets` lie, prompts and responses in the clear; default: a new
             one among the system's temporary files, which is yours to remove
    job      have the server write the files first, and download them so that what breaks off goes on where it was: for
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
    return Dataset.from_parquet(_without_maps(paths), cache_dir=str(place / "cache"))


def load_preferences(*, conversational: bool = False, **options: Any) -> Dataset:
    """`load_scores` with layout='preferences': prompt, chosen and rejected, as DPO takes them."""
    return load_scores(layout="preferences", conversational=conversational or None, **options)


def _without_maps(paths: list[str]) -> list[str]:
    """The files, their dimensions as a struct of numbers: `datasets` has no type for Arrow's maps.

    The struct has every name that occurs in any of the files; without one the column is left out. Rows are copied
    group by group, so memory holds one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(paths[0])
    at = schema.get_field_index(DIMENSIONS)
    if at < 0 or not pa.types.is_map(schema.field(at).type):
        return paths
    names = sorted({name for path in paths for name in _names(path)})
    kind = pa.struct([(name, pa.float64()) for name in names])
    changed = schema.set(at, pa.field(DIMENSIONS, kind)) if names else schema.remove(at)
    done = []
    for path in paths:
        target = str(Path(path).with_suffix(".loaded.parquet"))
        with pq.ParquetFile(path) as source, pq.ParquetWriter(target, changed) as writer:
            for group in range(source.num_row_groups):
                table = source.read_row_group(group)
                rows = table.column(at)
                table = table.remove_column(at)
                if names:
                    values = [None if one is None else dict(one) for one in rows.to_pylist()]
                    table = table.add_column(at, changed.field(at), pa.array(values, kind))
                writer.write_table(table)
        done.append(target)
    return done


def _names(path: str) -> set[str]:
    """The names of dimensions that occur in a file."""
    import pyarrow.parquet as pq

    found: set[str] = set()
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=[DIMENSIONS]).column(0)
            for chunk in column.chunks:
                found.update(chunk.keys.unique().to_pylist())
    return found
