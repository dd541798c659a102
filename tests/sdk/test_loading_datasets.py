"""Files of exports made such as the `datasets` library can read: it has no type for Arrow's maps."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from autotune_sdk.integrations.datasets import _without_maps

MAP = pa.map_(pa.string(), pa.float64())


def written(path, rows, kind=MAP):
    table = pa.table({"score": pa.array([0.5] * len(rows)), "dimensions": pa.array(rows, kind)})
    pq.write_table(table, path, row_group_size=2)
    return str(path)


def test_dimensions_become_a_struct_with_every_name_of_any_file(tmp_path) -> None:
    paths = [
        written(tmp_path / "a.parquet", [[("form", 0.25), ("sense", None)], None, [("form", 1.0)]]),
        written(tmp_path / "b.parquet", [[("tone", 0.75)]]),
    ]
    first, second = (pq.read_table(path) for path in _without_maps(paths))
    assert first.schema.equals(second.schema)
    assert first.column("dimensions").to_pylist() == [
        {"form": 0.25, "sense": None, "tone": None},
        None,
        {"form": 1.0, "sense": None, "tone": None},
    ]
    assert second.column("dimensions").to_pylist() == [{"form": None, "sense": None, "tone": 0.75}]
    assert first.column("score").to_pylist() == [0.5] * 3


def test_a_column_that_holds_nothing_is_left_out(tmp_path) -> None:
    (path,) = _without_maps([written(tmp_path / "a.parquet", [None, None, None])])
    table = pq.read_table(path)
    assert (table.column_names, table.num_rows) == (["score"], 3)


def test_other_files_stay_as_they_are(tmp_path) -> None:
    plain = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"prompt": ["p"], "chosen": ["c"]}), plain)
    assert _without_maps([plain]) == [plain]
    empty = written(tmp_path / "b.parquet", [])
    assert pq.read_table(_without_maps([empty])[0]).num_rows == 0
