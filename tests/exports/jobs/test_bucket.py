"""The bucket of an S3-compatible service, against a server of that kind: `moto_server` on the PATH or beside Python."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from autotune.core import ids
from exports.files import storing
from exports.models import Export, ExportFile
from exports.work import ending
from tests.exports.jobs.conftest import content_of, download, rows
from tests.factories import public
from tests.support.concurrency import until

pytestmark = [pytest.mark.django_db, pytest.mark.processes]
KEYS = {"access_key": "test-key", "secret_key": "test-secret"}


def program():
    beside = Path(sys.executable).parent / "moto_server"
    return os.environ.get("MOTO_SERVER") or shutil.which("moto_server") or (str(beside) if beside.exists() else None)


@pytest.fixture(scope="module")
def service():
    """The address of a service with a bucket `exports`."""
    if not (command := program()):
        if os.environ.get("CI"):
            pytest.fail("moto_server is missing; CI must have it")
        pytest.skip("no moto_server (pip install 'moto[server]')")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [command, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: _listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def objects(service, settings):
    """`objects()`: the names in the bucket, which is the storage of exports, below a prefix."""
    options = {"bucket_name": "exports", "location": "some/prefix", "endpoint_url": service, "region_name": "us-east-1"}
    settings.STORAGES = {
        **settings.STORAGES,
        "exports": {"BACKEND": "exports.files.bucket.BucketStorage", "OPTIONS": {**options, **KEYS}},
    }
    client = boto3.client(
        "s3", endpoint_url=service, region_name="us-east-1", aws_access_key_id="test-key",
        aws_secret_access_key="test-secret",
    )  # fmt: skip
    client.create_bucket(Bucket="exports")

    def names():
        return sorted(entry["Key"] for entry in client.list_objects_v2(Bucket="exports").get("Contents", []))

    names.read = lambda name: client.get_object(Bucket="exports", Key=name)["Body"].read()
    yield names
    for name in names():
        client.delete_object(Bucket="exports", Key=name)


@pytest.mark.usefixtures("small_parts")
def test_a_job_is_stored_read_in_ranges_and_deleted(api, scored, ask, run, objects, django_capture_on_commit_callbacks):
    completions = scored(5)
    export = run(ask())
    assert export.status == "completed"
    stored = ExportFile.objects.filter(export=export).values_list("stored_as", flat=True)
    assert objects() == sorted(f"some/prefix/{name}" for name in stored)
    assert all(name.startswith(f"some/prefix/{export.pk.hex}/") for name in objects())
    assert not any(b"completion_id" in objects.read(name) for name in objects())

    whole = content_of(download(api, export))
    assert [row["metadata"]["completion_id"] for row in rows(whole)] == [
        public("comp", completion) for completion in completions
    ]
    assert content_of(download(api, export, range="bytes=400-900")) == whole[400:901]

    with django_capture_on_commit_callbacks(execute=True):
        Export.objects.filter(pk=export.pk).update(expires_at=export.completed_at)
        ending.expire(export.completed_at)
    assert objects() == []


def test_a_range_of_a_large_object_is_read_separately(objects, monkeypatch):
    """What is read from the service is the range, and not the object."""
    plain, file_id, export_id = os.urandom(12 * 2**20), ids.new(), ids.new()
    stored = storing.store(export_id, file_id, bytes(32), [plain[:1000], plain[1000:]])
    assert stored.bytes == len(plain)
    read = []
    from exports.files import sealed

    real = sealed._exactly
    monkeypatch.setattr(sealed, "_exactly", lambda source, size: read.append(size) or real(source, size))
    start = 7 * 2**20 + 5
    part = b"".join(storing.read(stored.name, file_id, bytes(32), len(plain), start, start + 10))
    assert part == plain[start : start + 10]
    assert sum(read) < 70_000
    assert b"".join(storing.read(stored.name, file_id, bytes(32), len(plain), 0, len(plain))) == plain


def test_orphaned_objects_are_deleted(scored, ask, run, objects):
    scored(1)
    done = run(ask())
    storing.store(done.pk, ids.new(), bytes(32), [b"of a worker that died"])
    storing.store(ids.new(), ids.new(), bytes(32), [b"of an export that is gone"])
    assert ending.clean_up() == 2
    assert len(objects()) == 2


def test_a_missing_object_and_an_unavailable_service_are_reported(api, scored, ask, run, objects, settings):
    scored(1)
    export = run(ask())
    name = ExportFile.objects.get(export=export, kind="data").stored_as
    storing.delete(name)
    assert download(api, export).status_code == 503
    away = {**settings.STORAGES["exports"]["OPTIONS"], "endpoint_url": "http://127.0.0.1:9"}
    settings.STORAGES = {
        **settings.STORAGES,
        "exports": {"BACKEND": "exports.files.bucket.BucketStorage", "OPTIONS": away},
    }
    waiting = run(ask())
    assert (waiting.status, waiting.failures) == ("pending", 1)
