"""Export jobs count what they leave out, by reason, and describe the column types of files that lack them."""

import json

import pytest

from exports.models import Export
from tests.exports.jobs.conftest import content_of, download, rows
from tests.factories import ScoreFactory, TaskFactory
from tests.support.answering import answered

pytestmark = pytest.mark.django_db
CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "yes"}]
TOOLS = [{"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}, {"role": "user", "content": "yes"}]


def manifest_of(api, export):
    return json.loads(content_of(download(api, export, "?file=manifest.json")))


def answers(task, messages, *values):
    for value in values:
        answered(task, "yes", f"{value}", value, messages=messages)


@pytest.mark.usefixtures("small_parts")
def test_c5_a_job_adds_up_the_rows_that_its_parts_leave_out(api, task, ask, run):
    for messages in (None, CHAT, None, TOOLS, None, CHAT):
        answers(task, messages, len(str(messages)) / 1000)
    export = run(ask(layout="kto"))
    assert (export.status, export.rows, export.left_out) == ("completed", 3, 3)
    reasons = {"conversation": 2, "tools": 1}
    answer = api.get(f"/exports/{export.public_id}").json()["export"]
    assert (answer["leftOut"], answer["leftOutByReason"]) == (3, reasons)
    assert (answer["metadata"]["leftOut"], answer["metadata"]["leftOutByReason"]) == (3, reasons)


def test_c5_a_job_that_leaves_all_rows_out_has_an_empty_file(api, task, ask, run):
    answers(task, CHAT, 0.1, 0.9)
    export = run(ask(layout="preferences"))
    assert (export.status, export.rows, export.left_out) == ("completed", 0, 2)
    assert content_of(download(api, export)) == b""
    assert export.metadata["leftOutByReason"] == {"conversation": 2}


def test_c7_a_job_takes_tools(api, task, ask, run):
    answers(task, TOOLS, 0.1, 0.9)
    export = run(ask(layout="preferences", conversational=True, tools=True))
    (row,) = rows(content_of(download(api, export)))
    assert json.loads(row["prompt"][0]["tool_calls"]) == [{"id": "c"}]


def test_c18_a_job_names_the_versions_that_have_a_system_prompt(api, ask, run, settings):
    settings.EXPORT_PART_ROWS = 1
    tasks = [TaskFactory(organization=api.organization, system_prompt=text) for text in ("Be brief.", None)]
    for task in tasks:
        answers(task, None, 0.1, 0.9)
    export = run(ask())
    assert export.metadata["systemPromptVersions"] == [tasks[0].version.public_id]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("body", [{"dimensions": True}, {"dimensionColumns": True}])
def test_c12_the_manifest_lists_the_types_of_columns_that_begin_with_nulls(api, task, ask, run, body):
    for n in range(4):
        dimensions = [{"name": "tone", "value": 0.5, "weight": None}] if n > 1 else None
        ScoreFactory(run__completion__task=task, dimensions=dimensions)
    export = run(ask(**body))
    manifest = manifest_of(api, export)
    assert len(manifest["files"]) == 2
    number = {"dtype": "float64", "_type": "Value"}
    features = manifest["features"]
    assert features == manifest["metadata"]["features"]
    assert (
        features["dimension_tone"] == number
        if "dimensionColumns" in body
        else features["dimensions"] == {"tone": number}
    )
    first = rows(content_of(download(api, export, f"?file={manifest['files'][0]['name']}")))[0]
    assert list(features) == list(first)
    assert list(features["metadata"]) == list(first["metadata"])


@pytest.mark.usefixtures("small_parts")
def test_c12_parts_load_with_datasets(api, task, ask, run, tmp_path):
    datasets = pytest.importorskip("datasets")
    for n in range(4):
        dimensions = [{"name": "tone", "value": 0.5, "weight": None}] if n > 1 else None
        ScoreFactory(run__completion__task=task, dimensions=dimensions)
    export = run(ask(dimensionColumns=True))
    manifest = manifest_of(api, export)
    paths = []
    for file in manifest["files"]:
        paths.append(str(tmp_path / file["name"]))
        (tmp_path / file["name"]).write_bytes(content_of(download(api, export, f"?file={file['name']}")))
    features = datasets.Features.from_dict(manifest["features"])
    loaded = datasets.load_dataset("json", data_files=paths, features=features, split="train", cache_dir=str(tmp_path))
    assert loaded["dimension_tone"][:] == [None, None, 0.5, 0.5]


@pytest.mark.parametrize("kind", ["parquet", "tfrecord"])
def test_c12_files_that_carry_their_types_have_no_features(api, task, ask, run, kind, scored):
    scored(2)
    assert "features" not in run(ask(format=kind)).metadata


def test_an_export_of_an_earlier_release_counts_left_out_rows_as_erased(api, ask, run, scored):
    scored(1)
    export = run(ask())
    Export.objects.filter(pk=export.pk).update(left_out=2)
    assert api.get(f"/exports/{export.public_id}").json()["export"]["leftOutByReason"] == {"erased": 2}
