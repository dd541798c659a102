"""A new master key and new data keys while web, workers and beat serve and score: no request fails, all stays readable.

The steps are those of docs/encryption.md. The keys are in a file, which is how a running server learns of a new one.
"""

import secrets
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from autotune.site.local import launch
from autotune.site.local.supervisor import SupervisorError
from tests.support.concurrency import until
from tests.support.serving import whole_server

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.timeout(900)]
PATIENCE_S = 240
TEXT = "a text that stays readable"


class Traffic:
    """Callers that submit and read all the time. `faults`: what was answered otherwise."""

    def __init__(self, server, task, callers=2):
        self.server, self.task, self.submitted, self.faults = server, task, [], []
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(callers)]

    @contextmanager
    def flowing(self):
        for thread in self.threads:
            thread.start()
        try:
            yield self
        finally:
            self.ending.set()
            for thread in self.threads:
                thread.join(120)

    def run(self, caller):
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {self.server.key}"
        base, n = f"{self.server.client.base_url}/api/v1", 0
        while not self.ending.is_set():
            n += 1
            body = {"taskId": self.task.id, "modelId": "m", "prompt": f"{TEXT} {caller}-{n}", "response": str(n % 100)}
            try:
                completion = self.expect(202, session.post(f"{base}/completions", json=body, timeout=60))["completion"]
                self.submitted.append((completion["id"], body["prompt"]))
                self.expect(
                    200, session.get(f"{base}/completions/{self.submitted[len(self.submitted) // 2][0]}", timeout=60)
                )
                self.expect(200, session.get(f"{base}/scores", timeout=60))
            except Exception as exc:  # whatever it is, a caller would have met it
                self.faults.append(repr(exc))
                return
            self.ending.wait(0.3)

    def expect(self, status, answer):
        assert answer.status_code == status, (answer.url, answer.status_code, answer.text)
        return answer.json()

    def goes_on(self, more=10):
        """So many more were submitted since now."""
        before = len(self.submitted)
        until(lambda: len(self.submitted) >= before + more or self.faults, seconds=PATIENCE_S, every_s=0.2)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of this test's own, with the master key `old` in a file."""
    data = tmp_path_factory.mktemp("rotating")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AUTOTUNE_ENCRYPTION_KEYS", raising=False)
        patch.setenv("AUTOTUNE_ENCRYPTION_KEYS_FILE", str(data / "keys"))
        write(data / "keys", f"old:{secrets.token_hex(32)}")
        with whole_server(data) as running:
            yield running


def write(path, text):
    """Whole or not at all: processes may be reading it."""
    beside = path.with_name("new")
    beside.write_text(text)
    beside.chmod(0o600)
    beside.replace(path)


def restart(server, kind):
    """One more of the kind that works already, then the end of the others, as a deployment does it."""
    server.end_all(kind)
    server.start(kind, f"{kind}-{secrets.token_hex(2)}")


def test_keys_are_rotated_and_texts_reencrypted_under_load(server):
    file = Path(server.env["AUTOTUNE_ENCRYPTION_KEYS_FILE"])
    old, new = file.read_text(), f"new:{secrets.token_hex(32)}"
    task = server.task("rotating")
    with Traffic(server, task).flowing() as traffic:
        traffic.goes_on()
        write(file, f"{new},{old}")
        assert "Keep old" in launch.manage(server.env, "rotate_keys", "--check")
        assert "new" in launch.manage(server.env, "rotate_keys")
        traffic.goes_on()
        launch.manage(server.env, "reencrypt", "--start", "--settle-minutes", "1")
        began = time.monotonic()
        until(lambda: "No data key is retired" in launch.manage(server.env, "reencrypt"), seconds=PATIENCE_S, every_s=3)
        assert time.monotonic() - began > 50, "no sooner than every process has let go of the retired keys"
        traffic.goes_on()
        assert "may be removed" in launch.manage(server.env, "rotate_keys")
    assert traffic.faults == []
    assert len(traffic.submitted) >= 30
    write(file, new)
    for kind in ("web", "worker"):
        restart(server, kind)
    until(lambda: launch.answers(int(server.env["PORT"]), launch.READY_PATH), seconds=PATIENCE_S)
    until(lambda: states(server, traffic) == {"completed"}, seconds=PATIENCE_S, every_s=1)
    reasons = {score.completion_id: score.reasoning for score in server.client.scores.iterate(task_id=task.id)}
    for completion_id, prompt in traffic.submitted:
        read = server.client.completions.get(completion_id)
        assert (read.prompt, reasons[completion_id]) == (prompt, f"it says {read.response}")
    write(file, old)
    with pytest.raises(SupervisorError, match="new"):
        launch.manage(server.env, "rotate_keys")


def states(server, traffic):
    """The statuses of what was submitted."""
    return {server.client.completions.get(completion_id).status for completion_id, _ in traffic.submitted}
