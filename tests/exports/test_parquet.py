"""The Parquet form of an export, read back with pyarrow and pandas."""

import io
import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exports.formats import parquet
from exports.reading import ranges
from tasks.models import Completion
from tests.factories import ScoreFactory, TaskFactory, public

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def scored(task, value=0.5, **more):
    return ScoreFactory(run__completion__task=task, value=value, **more)


def exported(api, query=""):
    response = api.get(f"/scores/export?format=parquet{query}")
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/vnd.apache.parquet"
    assert response["Content-Disposition"].endswith('.parquet"')
    return io.BytesIO(b"".join(response.streaming_content))


def lines(api, query=""):
    response = api.get(f"/scores/export?format=jsonl{query}")
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


@pytest.mark.parametrize("query", ["", "&dimensions=true", "&per=grader&dimensions=true", "&naming=camel"])
def test_it_has_the_same_records_as_json_lines(api, task, query):
    for n in range(5):
        dimensions = [{"name": f"d{n % 2}", "value": n / 10, "weight": 1}] if n else None
        scored(task, n / 10, dimensions=dimensions, run__completion__prompt=f"“{n}” 😀")
    rows = pq.read_table(exported(api, query)).to_pylist()
    for row in rows:
        time = "scoredAt" if "naming" in query else "scored_at"
        moment = row["metadata"][time]
        row["metadata"][time] = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
        row["dimensions"] = None if row.get("dimensions") is None else dict(row["dimensions"])
    assert rows == lines(api, query)


def test_its_columns_have_fixed_types(api):
    schema = pq.read_schema(exported(api, "&dimensions=true"))
    assert schema.names == ["prompt", "messages", "response", "score", "dimensions", "metadata"]
    assert schema.field("score").type == pa.float64()
    assert schema.field("dimensions").type == pa.map_(pa.string(), pa.float64())
    metadata = schema.field("metadata").type
    assert [metadata.field(n).name for n in range(metadata.num_fields)] == [
        "task_id", "model_id", "completion_id", "grader_id", "grader_version", "grader_version_id", "confidence",
        "scored_at", "external_id", "reused_from",
    ]  # fmt: skip
    assert metadata.field("scored_at").type == pa.timestamp("ms", tz="UTC")


def test_dimensions_as_columns_are_doubles_also_where_no_row_has_one(api, task):
    scored(task, dimensions=[{"name": "tone", "value": 1, "weight": 1}])
    scored(task)
    table = pq.read_table(exported(api, "&dimensionColumns=true"))
    assert table.schema.names == ["prompt", "messages", "response", "score", "dimension_tone", "metadata"]
    assert table.schema.field("dimension_tone").type == pa.float64()
    assert table["dimension_tone"].to_pylist() == [1.0, None]


def test_without_dimensions_it_has_no_map_column(api, task):
    scored(task, dimensions=[{"name": "tone", "value": 1, "weight": 1}])
    table = pq.read_table(exported(api))
    assert table.schema.names == ["prompt", "messages", "response", "score", "metadata"]
    assert table.num_rows == 1


def test_its_schema_has_the_metadata_of_the_data_set(api, task):
    values = [0.0, 0.25, 0.6, 1.0]
    for n, value in enumerate(values):
        scored(task, value, run__completion__model_id=f"m{n % 2}")
    gone = scored(task, 0.9)
    Completion.objects.filter(pk=gone.completion_id).update(prompt=None, response=None)
    metadata = {key.decode(): value.decode() for key, value in pq.read_schema(exported(api)).metadata.items()}
    assert abs(datetime.fromisoformat(metadata["exportedAt"]) - datetime.now(UTC)).total_seconds() < 60
    assert json.loads(metadata["taskIds"]) == [public("task", task)]
    assert json.loads(metadata["modelIds"]) == ["m0", "m1"]
    assert json.loads(metadata["totalRecords"]) == 4
    assert json.loads(metadata["leftOut"]) == 1
    distribution = json.loads(metadata["scoreDistribution"])
    percentiles = distribution.pop("percentiles")
    assert distribution == pytest.approx({"mean": np.mean(values), "std": np.std(values), "min": 0.0, "max": 1.0})
    assert percentiles == pytest.approx({f"p{percent}": np.percentile(values, percent) for percent in (25, 50, 75, 95)})


def test_an_empty_selection_is_a_valid_file(api):
    file = exported(api)
    assert pq.read_table(file).num_rows == 0
    metadata = pq.read_schema(file).metadata
    assert (metadata[b"totalRecords"], metadata[b"scoreDistribution"]) == (b"0", b"null")


def test_row_groups_are_bounded_in_rows_and_bytes(api, task, monkeypatch):
    monkeypatch.setattr(ranges, "RANGE_ROWS", 2)
    for n in range(9):
        scored(task, n / 10)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 4)
    file = pq.ParquetFile(exported(api))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [4, 4, 1]
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    assert pq.ParquetFile(exported(api)).num_row_groups == 5


def test_pandas_reads_it(api, task):
    scored(task, 0.25)
    frame = pd.read_parquet(exported(api))
    assert frame["score"].tolist() == [0.25]
    assert frame["metadata"][0]["task_id"] == public("task", task)
