"""Export jobs through the client: started, waited for, downloaded whole, resumed, checked, cancelled."""

import hashlib
import json

import pyarrow.parquet
import pytest
import requests
from autotune_sdk import BrokenExport, ConflictError, DamagedFile, ExportNotCompleted, InvalidRequest
from autotune_sdk import _downloading as downloading

from exports.work import running
from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.AUTOTUNE_DATA_DIR = tmp_path / "data"


@pytest.fixture
def scored(client, task, score):
    client.completions.submit_batch(items(40), task_id=task.id)
    score()
    return task


@pytest.fixture
def export(client, scored):
    begun = client.exports.create(format="jsonl", task_id=scored.id, min_reward=0.1)
    assert (begun.status, begun.files, begun.final) == ("pending", (), False)
    running.work()
    return client.exports.wait(begun.id, timeout_s=5)


def test_a_job_is_awaited_and_downloaded(client, export, tmp_path):
    assert (export.status, export.rows, export.progress, export.left_out) == ("completed", 30, 1, 0)
    assert is_recent(export.created_at)
    assert export.metadata["totalRecords"] == 30
    (data,) = export.data_files
    (got,) = client.exports.download(export.id, tmp_path / "out")
    assert (got.bytes, got.sha256) == (data.bytes, export.sha256)
    lines = (tmp_path / "out" / data.name).read_text().splitlines()
    assert [json.loads(line)["score"] for line in lines] == [n / 100 for n in range(10, 40)]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {file.name for file in export.files}
    assert [row.id for row in client.exports.iterate(status="completed")] == [export.id]
    assert client.exports.download(client.exports.list().items[0], tmp_path / "out") == (got,)  # is there already


def test_an_interrupted_download_is_resumed(client, export, tmp_path, monkeypatch):
    (data,) = export.data_files
    whole = client.exports.download(export, tmp_path / "whole")[0]
    copied, calls = downloading.copy, []

    def breaking(response, file, digest, on_bytes=None):
        calls.append(response.status_code)
        piece = response.raw.read(100)
        file.write(piece)
        digest.update(piece)
        raise BrokenExport("cut")

    monkeypatch.setattr(downloading, "copy", breaking)
    with pytest.raises(BrokenExport):
        client.exports.download(export, tmp_path / "out", file=data.name)
    assert set(calls) == {200}  # the client of these tests makes one try
    part = next(path for path in (tmp_path / "out").iterdir() if path.name.endswith(".part"))
    assert part.stat().st_size == 100

    monkeypatch.setattr(downloading, "copy", copied)
    seen = []
    (got,) = client.exports.download(
        export, tmp_path / "out", file=data.name, on_progress=lambda *progress: seen.append(progress)
    )
    assert got.sha256 == whole.sha256
    assert seen[-1] == (data.bytes, data.bytes)
    assert (tmp_path / "out" / data.name).read_bytes() == (tmp_path / "whole" / data.name).read_bytes()
    assert not part.exists()


def test_a_corrupt_download_gets_no_final_name(client, export, tmp_path):
    (data,) = export.data_files
    (tmp_path / f".{data.name}.{data.sha256[:16]}.part").write_bytes(b"x" * 50)
    with pytest.raises(DamagedFile):
        client.exports.download(export, tmp_path, file=data.name)
    assert not (tmp_path / data.name).exists()
    (got,) = client.exports.download(export, tmp_path, file=data.name)
    assert hashlib.sha256((tmp_path / data.name).read_bytes()).hexdigest() == got.sha256


def test_a_link_needs_no_key(client, export):
    (data,) = export.data_files
    link = client.exports.link(export.id, file=data.name, expires_in_s=600)
    path = "/" + link.url.split("/", 3)[3]
    assert hashlib.sha256(requests.get(client.base_url + path, timeout=10).content).hexdigest() == data.sha256


def test_a_job_is_cancelled(client, scored):
    begun = client.exports.create(format="parquet", task_id=scored.id)
    assert client.exports.cancel(begun.id).status == "cancelled"
    with pytest.raises(ExportNotCompleted) as ended:
        client.exports.wait(begun.id, timeout_s=5)
    assert ended.value.export.status == "cancelled"
    with pytest.raises(ExportNotCompleted):
        client.exports.download(begun.id, "nowhere")
    assert client.exports.cancel(begun.id).status == "cancelled"


def test_a_finished_job_cannot_be_cancelled(client, export):
    with pytest.raises(ConflictError):
        client.exports.cancel(export.id)


def test_waiting_ends_in_time(client, scored):
    begun = client.exports.create(task_id=scored.id)
    seen = []
    with pytest.raises(ExportNotCompleted, match="after 0 s"):
        client.exports.wait(begun.id, timeout_s=0, on_progress=seen.append)
    assert [state.status for state in seen] == ["pending"]
    with pytest.raises(InvalidRequest):
        client.exports.create(format="parquet", layout="records", threshold=0.5)


def test_a_large_export_is_downloaded_in_parts(client, scored, settings, tmp_path, monkeypatch):
    settings.EXPORT_PART_ROWS = 15
    monkeypatch.setattr("exports.reading.ranges.RANGE_ROWS", 5)
    begun = client.exports.create(format="parquet", task_id=scored.id)
    running.work()
    export = client.exports.wait(begun.id, timeout_s=5)
    assert [file.rows for file in export.data_files] == [15, 15, 10]
    got = client.exports.download(export, tmp_path)
    assert sum(pyarrow.parquet.read_table(file.path).num_rows for file in got) == 40
    manifest = next(file for file in export.files if file.kind == "manifest")
    assert manifest.sha256 == export.sha256
