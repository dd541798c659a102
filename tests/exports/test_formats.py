"""The formats of an export: their content, compressed and empty, and that all have the same rows."""

import gzip
import io
import json
from datetime import datetime

import pyarrow.parquet as pq
import pytest
import zstandard

from exports import formats
from exports.formats import json as whole_json
from exports.metadata import ExportFacts
from exports.requests import CHOICES, ExportQuery
from exports.structure import Column, ColumnKind, RowBatch, in_camel_case
from tests.exports import tfrecords
from tests.factories import ScoreFactory, TaskFactory, public

pytestmark = pytest.mark.django_db
EVERY_PLANE = "".join(chr((plane << 16) + 0x61) for plane in range(17)) + '\u2028\ufeff\x7f\\"\n'


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def scored(task, value=0.5, **more):
    return ScoreFactory(run__completion__task=task, value=value, **more)


def exported(api, query=""):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return response, b"".join(response.streaming_content)


def opened(content, compression):
    match compression:
        case "gzip":
            return gzip.decompress(content)
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    return content


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("form", ["jsonl", "json", "tfrecord"])
def test_a_compressed_file_holds_the_plain_one(api, task, form, compression):
    for n in range(3):
        scored(task, n / 10)
    response, content = exported(api, f"format={form}&compression={compression}")
    ending = {"gzip": "gz", "zstd": "zst"}[compression]
    assert response["Content-Type"] == f"application/{compression}"
    assert response["Content-Disposition"].endswith(f'.{form}.{ending}"')
    assert "Content-Encoding" not in response
    plain = exported(api, f"format={form}")[1]
    if form == "json":  # which contains its time of creation
        assert json.loads(opened(content, compression))["records"] == json.loads(plain)["records"]
    else:
        assert opened(content, compression) == plain


@pytest.mark.parametrize(("compression", "codec"), [("gzip", "GZIP"), ("zstd", "ZSTD"), (None, "ZSTD")])
def test_parquet_is_compressed_inside(api, task, compression, codec):
    scored(task)
    response, content = exported(api, "format=parquet" + (f"&compression={compression}" if compression else ""))
    assert response["Content-Disposition"].endswith('.parquet"')
    file = pq.ParquetFile(io.BytesIO(content))
    assert file.metadata.row_group(0).column(0).compression == codec
    assert file.read().num_rows == 1


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("form", CHOICES["format"])
def test_an_empty_selection_is_an_empty_valid_file(api, form, compression):
    _, content = exported(api, f"format={form}" + (f"&compression={compression}" if compression else ""))
    if form == "parquet":
        assert pq.read_table(io.BytesIO(content)).num_rows == 0
        return
    plain = opened(content, compression)
    if form == "json":
        document = json.loads(plain)
        assert (document["records"], document["metadata"]["scoreDistribution"]) == ([], None)
    else:
        assert plain == b""


def test_json_is_one_object_with_metadata_of_the_data_set(api, task):
    for value in (0.0, 1.0):
        scored(task, value)
    response, content = exported(api, "format=json&dimensions=true")
    assert response["Content-Type"] == "application/json"
    document = json.loads(content)
    lines = [json.loads(line) for line in exported(api, "dimensions=true")[1].splitlines()]
    assert (set(document), document["records"]) == ({"metadata", "records"}, lines)
    datetime.fromisoformat(document["metadata"].pop("exportedAt"))
    assert document["metadata"] == {
        "taskIds": [public("task", task)],
        "modelIds": ["model-a"],
        "totalRecords": 2,
        "leftOut": 0,
        "leftOutByReason": {},
        "systemPromptVersions": [],
        "scoreDistribution": {
            "mean": 0.5,
            "std": 0.5,
            "min": 0.0,
            "max": 1.0,
            "percentiles": {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95},
        },
    }


@pytest.mark.parametrize("per", ["completion", "grader"])
def test_json_of_many_records_is_refused(api, task, monkeypatch, per):
    monkeypatch.setattr(whole_json, "MAX_RECORDS", 2)
    for _ in range(3):
        scored(task)
    response = api.get(f"/scores/export?format=json&per={per}")
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert (error["pointer"], error["code"]) == ("?format", "too_many_records")
    assert "jsonl" in error["detail"]
    assert len(json.loads(exported(api, f"format=json&minScore=0.9&per={per}")[1])["records"]) == 0


def test_every_unicode_plane_survives_in_every_format(api, task):
    scored(task, run__completion__prompt=EVERY_PLANE, run__completion__response=EVERY_PLANE[::-1])
    texts = (EVERY_PLANE, EVERY_PLANE[::-1])
    (line,) = exported(api)[1].split(b"\n")[:-1]
    assert (json.loads(line)["prompt"], json.loads(line)["response"]) == texts
    (row,) = pq.read_table(io.BytesIO(exported(api, "format=parquet")[1])).to_pylist()
    assert (row["prompt"], row["response"]) == texts
    (example,) = tfrecords.examples(exported(api, "format=tfrecord")[1])
    assert (example["prompt"], example["response"]) == ([texts[0].encode()], [texts[1].encode()])
    (record,) = json.loads(exported(api, "format=json")[1])["records"]
    assert (record["prompt"], record["response"]) == texts


@pytest.mark.parametrize("form", CHOICES["format"])
def test_texts_of_a_mebibyte_survive(api, task, form):
    scored(task, run__completion__prompt="p" * 2**20, run__completion__response="😀" * 2**18)
    content = exported(api, f"format={form}")[1]
    if form == "parquet":
        (row,) = pq.read_table(io.BytesIO(content)).to_pylist()
        assert (len(row["prompt"]), row["response"][-1]) == (2**20, "😀")
    else:
        assert len(content) > 2**21


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_concatenated_compressed_parts_are_one_file(compression):
    columns = (Column("score", ColumnKind.FLOAT),)
    query = ExportQuery(compression=compression)

    def part(value):
        return b"".join(formats.encoder(query, columns, ExportFacts()).encode([RowBatch([[value]], 1, [value])]))

    parts = [part(0.25), part(1.0)]
    together = b"".join(parts)
    if compression == "gzip":
        plain = gzip.decompress(together)
    else:
        plain = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(together), read_across_frames=True).read()
    assert plain == b'{"score":0.25}\n{"score":1.0}\n'
    assert part(0.25) == parts[0]  # no time of day is in it


def test_facts_of_parts_add_up_to_those_of_the_whole():
    batches = [
        RowBatch([[]], 2, [0.0, 0.5], {"t1"}, {"a"}, left_out=1),
        RowBatch([[]], 1, [1.0], {"t1", "t2"}, {"b"}),
    ]
    whole, first, second = ExportFacts(), ExportFacts(), ExportFacts()
    list(whole.noting(batches)), list(first.noting(batches[:1])), list(second.noting(batches[1:]))
    first.merge(second)
    facts, merged = whole.as_json(), first.as_json()
    del facts["exportedAt"], merged["exportedAt"]
    assert merged == facts
    assert (facts["totalRecords"], facts["leftOut"], facts["taskIds"]) == (3, 1, ["t1", "t2"])


def test_camel_names_apply_inside_structs():
    columns = (
        Column("chosen_score", ColumnKind.FLOAT),
        Column("m", ColumnKind.STRUCT, members=(Column("task_id", ColumnKind.TEXT),)),
    )
    assert [column.name for column in in_camel_case(columns)] == ["chosenScore", "m"]
    assert in_camel_case(columns)[1].members[0].name == "taskId"
