"""An export job from its request to its file."""

import hashlib
import io
import json

import pyarrow.parquet
import pytest

from autotune.core import ids
from autotune.webhooks.models import Event
from exports.models import Export, ExportFile
from tests.exports.jobs.conftest import content_of, download, files_in, rows
from tests.factories import OrganizationFactory, ScoreFactory, TaskFactory, WebhookFactory, public

pytestmark = pytest.mark.django_db


def shown(api, export):
    return api.get(f"/exports/{export.public_id}").json()["export"]


def test_a_job_is_accepted_at_once_and_then_written(api, task, scored, ask, run, storage):
    completions = scored(5)
    export = ask(taskId=public("task", task))
    first = shown(api, export)
    assert (first["status"], first["progress"], first["files"], first["sha256"]) == ("pending", 0, None, None)
    assert first["query"] == {"taskId": public("task", task)}

    run(export)
    last = shown(api, export)
    assert (last["status"], last["progress"], last["rows"], last["error"]) == ("completed", 1, 5, None)
    names = [(file["kind"], file["name"], file["rows"]) for file in last["files"]]
    assert names == [("data", "records.jsonl", 5), ("metadata", "metadata.json", 0)]
    content = content_of(download(api, export))
    assert [row["metadata"]["completion_id"] for row in rows(content)] == [
        public("comp", completion) for completion in completions
    ]
    assert [row["prompt"] for row in rows(content)] == [f"p{n} é" for n in range(5)]
    assert last["sha256"] == last["files"][0]["sha256"] == hashlib.sha256(content).hexdigest()
    assert last["bytes"] == len(content)
    assert last["metadata"]["totalRecords"] == 5
    assert last["metadata"]["taskIds"] == [public("task", task)]
    assert last["metadata"]["scoreDistribution"]["max"] == 0.4
    assert last["completedAt"] < last["expiresAt"]
    sidecar = json.loads(content_of(download(api, export, "?file=metadata.json")))
    assert sidecar == last["metadata"]


def test_stored_files_are_encrypted_and_private(scored, ask, run, storage):
    scored(3)
    run(ask())
    paths = files_in(storage)
    assert len(paths) == 2
    for path in paths:
        stored_bytes = path.read_bytes()
        assert b"completion_id" not in stored_bytes
        assert b"totalRecords" not in stored_bytes
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_large_set_is_written_in_parts_with_a_manifest(api, scored, ask, run, compression):
    completions = scored(5)
    export = run(ask(**({"compression": compression} if compression else {})))
    files = shown(api, export)["files"]
    ending = "jsonl.gz" if compression else "jsonl"
    assert [(file["kind"], file["name"], file["rows"]) for file in files] == [
        ("data", f"part-00000.{ending}", 2),
        ("data", f"part-00001.{ending}", 2),
        ("data", f"part-00002.{ending}", 1),
        ("manifest", "manifest.json", 0),
        ("metadata", "metadata.json", 0),
    ]
    text = content_of(download(api, export, "?file=manifest.json"))
    assert shown(api, export)["sha256"] == hashlib.sha256(text).hexdigest()
    manifest = json.loads(text)
    assert manifest["rows"] == 5
    assert [file["name"] for file in manifest["files"]] == [file["name"] for file in files[:3]]
    apart = b""
    for file in manifest["files"]:
        part = content_of(download(api, export, f"?file={file['name']}"))
        assert (len(part), hashlib.sha256(part).hexdigest()) == (file["bytes"], file["sha256"])
        apart += part
    whole = content_of(download(api, export))
    assert whole == apart
    ids_found = [row["metadata"]["completion_id"] for row in rows(whole, compression)]
    assert ids_found == [public("comp", completion) for completion in completions]
    assert shown(api, export)["metadata"]["scoreDistribution"]["max"] == 0.4


def test_parts_end_at_their_size_too(scored, ask, run, settings, monkeypatch):
    settings.EXPORT_PART_BYTES = 1
    monkeypatch.setattr("exports.reading.ranges.RANGE_ROWS", 1)
    scored(3)
    export = run(ask())
    assert ExportFile.objects.filter(export=export, kind="data").count() == 3


@pytest.mark.usefixtures("small_parts")
def test_parts_of_parquet_are_files_of_their_own(api, scored, ask, run):
    scored(3)
    export = run(ask(format="parquet"))
    answer = download(api, export)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["code"] == "file_needed"
    records = []
    for number in range(2):
        part = content_of(download(api, export, f"?file=part-{number:05d}.parquet"))
        records += pyarrow.parquet.read_table(io.BytesIO(part)).to_pylist()
    assert [row["response"] for row in records] == ["r0", "r1", "r2"]


def test_json_is_one_file_however_small_the_parts(api, scored, ask, run, settings, monkeypatch):
    settings.EXPORT_PART_ROWS = 1
    monkeypatch.setattr("exports.reading.ranges.RANGE_ROWS", 1)
    scored(3)
    content = json.loads(content_of(download(api, run(ask(format="json")))))
    assert len(content["records"]) == content["metadata"]["totalRecords"] == 3


def test_too_many_rows_for_json_fail_with_advice(api, scored, ask, run, monkeypatch):
    monkeypatch.setattr("exports.formats.json.MAX_RECORDS", 2)
    scored(3)
    export = run(ask(format="json"))
    error = shown(api, export)["error"]
    assert (export.status, error["code"]) == ("failed", "too_many_records")
    assert "format=jsonl" in error["message"]


@pytest.mark.parametrize("member", ["dimensions", "dimensionColumns"])
def test_the_job_refuses_too_many_dimensions(api, task, ask, run, monkeypatch, member):
    """The request returns before all scores are checked."""
    monkeypatch.setattr("exports.reading.dimensions.MAX_NAMES", 1)
    dimensions = [{"name": name, "value": 1, "weight": 1} for name in ("a", "b")]
    ScoreFactory(run__completion__task=task, dimensions=dimensions)
    export = run(ask(**{member: True}))
    error = shown(api, export)["error"]
    assert (export.status, error["code"]) == ("failed", "out_of_range")
    assert "taskId" in error["message"]
    assert "?" not in error["message"]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "tfrecord", "json"])
def test_an_empty_selection_is_an_empty_file(api, ask, run, format):
    export = run(ask(format=format))
    job = shown(api, export)
    assert (job["status"], job["rows"], len(job["files"])) == ("completed", 0, 2)
    assert job["metadata"]["scoreDistribution"] is None
    content = content_of(download(api, export))
    if format == "parquet":
        assert pyarrow.parquet.read_table(io.BytesIO(content)).num_rows == 0
    elif format == "json":
        assert json.loads(content)["records"] == []
    else:
        assert content == b""


def test_query_errors_are_reported_before_anything_is_stored(api, task):
    for body, pointer, code in (
        ({"format": "csv"}, "/format", "invalid_choice"),
        ({"layout": "records", "threshold": 0.5}, "/threshold", "does_not_fit"),
        ({"minScore": 0.5, "maxScore": 0.1}, "/minScore", "out_of_range"),
        ({"startDate": "yesterday"}, "/startDate", "invalid_date"),
        ({"taskId": ids.encode("task", ids.new())}, "/taskId", "not_found"),
        ({"minScore": "0.5"}, "/minScore", "wrong_type"),
        ({"minReward": 2}, "/minReward", "out_of_range"),
        ({"layout": "preferences", "capPerPrompt": 2}, "/capPerPrompt", "does_not_fit"),
        ({"nonsense": 1}, "/nonsense", "unknown_field"),
    ):
        answer = api.post("/exports", body)
        assert answer.status_code == (404 if code == "not_found" else 400), body
        assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [(pointer, code)], body
        assert "?" not in answer.json()["detail"]
    assert Export.objects.count() == 0


def test_the_same_request_with_its_key_is_one_export(api, scored):
    scored(1)
    first = api.post("/exports", {}, idempotency_key="k")
    again = api.post("/exports", {}, idempotency_key="k")
    assert again.json() == first.json()
    assert Export.objects.count() == 1


def test_an_organization_has_a_limit_of_unfinished_exports(api, api_for, ask, settings):
    settings.EXPORTS_WAITING = 2
    ask()
    cancelled = ask()
    answer = api.post("/exports", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_exports")
    assert api_for(role="training_operator").post("/exports", {}).status_code == 202  # somebody else
    api.post(f"/exports/{cancelled.public_id}/cancel")
    assert api.post("/exports", {}).status_code == 202


def test_lists_have_the_newest_first_and_can_be_filtered(api, api_for, ask, run):
    done = run(ask())
    waiting = ask()
    api_for(role="training_operator").post("/exports", {})
    exports = api.get("/exports").json()["exports"]
    assert [export["id"] for export in exports] == [waiting.public_id, done.public_id]
    assert [export["files"] for export in exports] == [None, None]
    exports = api.get("/exports?status=completed").json()["exports"]
    assert [export["id"] for export in exports] == [done.public_id]


def test_a_list_costs_few_queries(api, ask, django_assert_max_num_queries):
    for _ in range(8):
        ask()
    with django_assert_max_num_queries(6):
        assert len(api.get("/exports").json()["exports"]) == 8


def test_webhooks_report_the_end_of_an_export(api, scored, ask, run, django_capture_on_commit_callbacks):
    WebhookFactory(organization=api.organization, events=["export.completed"])
    WebhookFactory(organization=OrganizationFactory(), events=["export.completed"])
    scored(2)
    export = run(ask())
    event = Event.objects.get()
    assert (event.organization_id, event.kind) == (api.organization.pk, "export.completed")
    assert event.data == {
        "exportId": export.public_id,
        "status": "completed",
        "rows": 2,
        "sha256": export.sha256,
    }


def test_the_filters_of_the_layout_apply(api, task, scored, ask, run):
    scored(4)
    other = TaskFactory(organization=api.organization)
    ScoreFactory(run__completion__task=other, value=0.3)
    ScoreFactory(value=0.3)  # another organization's
    content = content_of(download(api, run(ask(taskId=public("task", task), minReward=0.2, naming="camel"))))
    records = rows(content)
    assert [row["score"] for row in records] == [0.2, 0.3]
    assert all("taskId" in row["metadata"] for row in records)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "query",
    [
        {"per": "grader", "dimensions": True},
        {"layout": "preferences", "strategy": "all"},
        {"layout": "preferences", "conversational": True},
        {"layout": "kto", "threshold": 0.25},
        {"layout": "verl"},
    ],
)
def test_the_parts_of_each_layout_equal_the_streamed_export(api, task, ask, run, query, settings):
    settings.EXPORT_PART_ROWS = 1
    for prompt in range(3):
        for n in range(3):
            ScoreFactory(
                run__completion__task=task, run__completion__prompt=f"p{prompt}", run__completion__response=f"r{n}",
                value=n / 10, dimensions=[{"name": "tone", "value": 0.5, "weight": None}],
            )  # fmt: skip
    export = run(ask(**query))
    assert export.status == "completed", export.error_message
    assert ExportFile.objects.filter(export=export, kind="data").count() > 1 or query.get("layout") in (
        "preferences",
        "verl",
    )
    query_string = "&".join(f"{name}={str(value).lower()}" for name, value in query.items())
    assert content_of(download(api, export)) == content_of(api.get(f"/scores/export?{query_string}"))
