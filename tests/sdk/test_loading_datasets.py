"""Files of exports made such as the `datasets` library can read: it has no type for Arrow's maps."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from autotune_sdk.integrations import datasets as loading
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


def test_an_empty_column_is_left_out(tmp_path) -> None:
    (path,) = _without_maps([written(tmp_path / "a.parquet", [None, None, None])])
    table = pq.read_table(path)
    assert (table.column_names, table.num_rows) == (["score"], 3)


def test_other_files_stay_unchanged(tmp_path) -> None:
    plain = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"prompt": ["p"], "chosen": ["c"]}), plain)
    assert _without_maps([plain]) == [plain]
    empty = written(tmp_path / "b.parquet", [])
    assert pq.read_table(_without_maps([empty])[0]).num_rows == 0


@pytest.fixture
def datasets():
    return pytest.importorskip("datasets")


TOOL_MESSAGES = pa.list_(
    pa.struct([(name, pa.string()) for name in ("role", "content", "name", "tool_call_id", "tool_calls")])
)
CALLS = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 2}}}]


def with_tools(path, rows):
    schema = pa.schema([("prompt", TOOL_MESSAGES), ("tools", pa.string()), ("score", pa.float64())])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


def test_c13_a_selection_without_rows_keeps_its_columns(tmp_path, datasets) -> None:
    path = with_tools(tmp_path / "a.parquet", [])
    rows = loading._empty(path)
    assert (rows.num_rows, rows.column_names) == (0, ["prompt", "tools", "score"])
    assert rows.features["score"] == datasets.Value("float64")
    assert loading._with_tools(rows).features["tools"] == datasets.Json()
    assert loading._rows_of([path, path]) == 0


def test_c7_calls_and_tools_are_objects(tmp_path, datasets) -> None:
    messages = [
        {"role": "user", "content": "2 + 2?", "name": "", "tool_call_id": "", "tool_calls": ""},
        {"role": "assistant", "content": "", "name": "", "tool_call_id": "", "tool_calls": json.dumps(CALLS)},
    ]
    path = with_tools(tmp_path / "a.parquet", [{"prompt": messages, "tools": '[{"name": "add"}]', "score": 0.5}])
    (row,) = loading._with_tools(datasets.Dataset.from_parquet(path, cache_dir=str(tmp_path)))
    assert row["tools"] == [{"name": "add"}]
    assert row["prompt"][1]["tool_calls"] == CALLS
    assert row["prompt"][0] == {
        "role": "user", "content": "2 + 2?", "name": None, "tool_call_id": None, "tool_calls": None,
    }  # fmt: skip


def test_a_row_without_conversations_is_decoded_without_them() -> None:
    assert loading._decoded({"tools": "[]", "prompt": "text"}) == {"tools": []}


def test_c7_members_that_a_message_lacks_are_none() -> None:
    message = {"role": "tool", "content": "4", "name": "", "tool_call_id": "c1", "tool_calls": ""}
    assert loading._message(message) == {**message, "name": None, "tool_calls": None}
    assert loading._message({**message, "tool_calls": json.dumps(CALLS)})["tool_calls"] == CALLS
