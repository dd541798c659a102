"""An export job in real processes: its worker is killed halfway, and the file is the same as without the kill."""

import gzip
import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from autotune.core import ids
from autotune.site.local import launch
from tests.support.concurrency import until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
COUNT, AT_ONCE, OCTETS = 80, 20, 1_000_000
PATIENCE_S = 120  # a lease has to run out


def start_worker(server, name):
    """A worker whose parts end with every batch."""
    worker = next(process for process in launch.server_processes(server.env) if process.name == "worker")
    server.tree.start(replace(worker, name=name, env={**worker.env, "AUTOTUNE_EXPORT_PART_ROWS": "1"}))


def submit(server, task):
    """Prompts that do not compress; the ids of their completions."""
    letters, completion_ids = random.Random(1), []
    for start in range(0, COUNT, AT_ONCE):
        items = [
            {"model_id": "m", "prompt": letters.randbytes(OCTETS // 2).hex(), "response": str(n), "external_id": f"{n}"}
            for n in range(start, start + AT_ONCE)
        ]
        completion_ids += server.client.completions.submit_batch(items, task_id=task.id).ids
    return completion_ids


def test_a_worker_that_is_killed_in_the_middle_of_an_export(server):
    server.ensure("worker", "worker")
    server.ensure("beat", "beat")
    task = server.task("exported")
    completion_ids = submit(server, task)
    until(lambda: server.client.scores.summary(task_id=task.id).total_records == COUNT, seconds=PATIENCE_S)
    server.end_all("worker")

    headers = {"Authorization": f"Bearer {server.key}"}
    base = f"{server.client.base_url}/api/v1/exports"

    def shown():
        return requests.get(f"{base}/{export_id}", headers=headers, timeout=30).json()["export"]

    body = {"taskId": task.id, "compression": "gzip"}
    answer = requests.post(base, json=body, headers=headers, timeout=30)
    export_id = answer.json()["export"]["id"]
    start_worker(server, "exporter-1")
    until(lambda: shown()["rows"] > 0, seconds=PATIENCE_S, every_s=0.02)
    server.kill("exporter-1")
    broken = shown()
    assert broken["status"] == "running", "it was too quick for this test"
    assert 0 < broken["rows"] < COUNT

    start_worker(server, "exporter-2")
    last = until(lambda: (job := shown())["status"] != "running" and job, seconds=PATIENCE_S, every_s=0.5)
    assert (last["status"], last["rows"], last["error"]) == ("completed", COUNT, None), server.log("exporter-2")
    folder = Path(server.env["AUTOTUNE_DATA_DIR"]) / "exports" / ids.decode("exp", export_id).hex
    assert len(list(folder.iterdir())) == len(last["files"])  # nothing is left of the part that was lost

    manifest = requests.get(f"{base}/{export_id}/download?file=manifest.json", headers=headers, timeout=30).content
    assert hashlib.sha256(manifest).hexdigest() == last["sha256"]
    content = requests.get(f"{base}/{export_id}/download", headers=headers, timeout=60).content
    sizes = [file["bytes"] for file in json.loads(manifest)["files"]]
    assert len(content) == sum(sizes)
    records = [json.loads(line) for line in gzip.decompress(content).splitlines()]
    assert [row["metadata"]["completion_id"] for row in records] == completion_ids
    server.kill("exporter-2")
