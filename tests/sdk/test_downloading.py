"""Downloads of one file into one folder by several processes at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading

import pytest
from autotune_sdk import AutotuneClient
from autotune_sdk import _downloading as downloading
from autotune_sdk.models.exports import ExportedFile
from pytest_httpserver import HTTPServer
from werkzeug import Response

HALF = 300_000
DATA = os.urandom(2 * HALF)
SHA = hashlib.sha256(DATA).hexdigest()
FILE = ExportedFile(name="a.jsonl", kind="data", rows=1, bytes=len(DATA), sha256=SHA)
SCRIPT = """
import sys
from pathlib import Path
from autotune_sdk import AutotuneClient
from autotune_sdk import _downloading as downloading
from autotune_sdk.models.exports import ExportedFile
url, folder, size, sha = sys.argv[1:]
file = ExportedFile(name="a.jsonl", kind="data", rows=1, bytes=int(size), sha256=sha)
print("begins", flush=True)
with AutotuneClient("k", url) as client:
    print(downloading.FileDownload(client._transport, "/d", file, Path(folder) / file.name, None).run().sha256)
"""


@pytest.fixture
def server():
    """Sends the file from the requested offset; the first response pauses halfway until `others` is set."""
    with HTTPServer("127.0.0.1", 0, threaded=True) as http_server:
        http_server.calls, http_server.half, http_server.others = [], threading.Event(), threading.Event()

        def pieces(start, first):
            yield DATA[start : start + HALF]
            if first:
                http_server.half.set()
                http_server.others.wait(10)
            yield DATA[start + HALF :]

        def handler(request):
            http_server.calls.append(request)
            if len(http_server.calls) > 1:
                http_server.others.set()
            start = request.range.ranges[0][0] if request.range else 0
            headers = {"Content-Length": str(len(DATA) - start)}
            return Response(pieces(start, len(http_server.calls) == 1), status=206 if start else 200, headers=headers)

        http_server.expect_request("/api/v1/d").respond_with_handler(handler)
        yield http_server


def begun(server, folder):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, server.url_for("/"), str(folder), str(len(DATA)), SHA],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == "begins\n"
    return process


def test_two_processes_end_with_one_complete_file(server, tmp_path):
    first = begun(server, tmp_path)
    assert server.half.wait(10)
    second = begun(server, tmp_path)
    server.others.wait(1)  # a request of the second would come now
    server.others.set()
    assert [process.communicate(timeout=20)[0].strip() for process in (first, second)] == [SHA, SHA]
    assert (tmp_path / "a.jsonl").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    assert len(server.calls) == 1


def test_where_files_cannot_be_locked_each_has_a_part_of_its_own(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloading, "fcntl", None)
    got = []

    def run():
        with AutotuneClient("k", server.url_for("/")) as client:
            got.append(downloading.FileDownload(client._transport, "/d", FILE, tmp_path / FILE.name, None).run())

    both = [threading.Thread(target=run) for _ in range(2)]
    both[0].start()
    assert server.half.wait(10)
    both[1].start()
    for thread in both:
        thread.join(20)
    assert [download.sha256 for download in got] == [SHA, SHA]
    assert (tmp_path / "a.jsonl").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
