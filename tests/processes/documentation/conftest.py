"""The surroundings that pages state: the demo runs, and the reader works in the project's folder."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.conf import settings

from autotune.site.local import launch
from tests.support.concurrency import until
from tests.support.notebook import Notebook
from tests.support.operating import Operator
from tests.support.serving import free_port, own_environment, running_with
from tests.support.snippets import ROOT

PROJECT = ("Makefile", "Procfile", "bench", "docs", "examples", "manage.py", "requirements.txt", "sdk", "tools")
DONE = b"Ctrl-C ends all processes"
START_S = 180
GIVEN = {
    "client": "from autotune_sdk import AutotuneClient\nclient = AutotuneClient()\n",
    "task": "import os\ntask = client.tasks.get(os.environ['AUTOTUNE_TASK_ID'])\n",
    "review": (ROOT / "tests/processes/documentation/given_review.py").read_text(),
    "request": (ROOT / "tests/processes/documentation/given_request.py").read_text(),
}


@dataclass
class Reader:
    """A person who has started the demo, and reads the pages with its key.

    grader_port  where a grader of the reader may listen, for the server to call
    hook_port    where a receiver of webhooks listens
    """

    folder: Path
    env: dict[str, str]
    state: dict[str, str]
    grader_port: int
    hook_port: int

    def notebook(self) -> Notebook:
        replacements = {
            "task_…": self.state["taskId"],
            "at_live_…": self.state["apiKey"],
            "org_…": self.state["organizationId"],
            "grader_…": self.state["graderId"],
            "Your name": "Demo",
            "https://autotune.example.com": self.state["url"],
            "http://localhost:8000": self.state["url"],
            "https://grader.example.com": f"http://127.0.0.1:{self.grader_port}",
            "https://hooks.example.com": f"http://127.0.0.1:{self.hook_port}",
            "--port 9100": f"--port {self.grader_port}",
            "--port 9400": f"--port {self.grader_port}",
            "127.0.0.1:9400": f"127.0.0.1:{self.grader_port}",
        }
        return Notebook(self.folder, self.env, replacements=replacements, assumed=GIVEN)


@pytest.fixture(scope="session")
def reader(tmp_path_factory, hook_port):
    folder = tmp_path_factory.mktemp("reader")
    data = folder / "var"
    data.mkdir()
    for name in PROJECT:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    grader_port, port = free_port(), free_port()
    log = folder / "demo.log"
    with own_environment(data) as base:
        allowed = {
            "AUTOTUNE_OUTBOUND_ALLOW_GRADERS": f"127.0.0.1/32:{grader_port}",
            "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS": f"127.0.0.1/32:{hook_port}",
        }
        env = {**base, **allowed, "PORT": str(port), "DEMO_ONCE": ""}
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "autotune.site.demo"], env=env, cwd=launch.ROOT, stdout=out, stderr=out
            )
        try:
            until(lambda: DONE in log.read_bytes() or process.poll() is not None, seconds=START_S)
            assert process.poll() is None, log.read_text()
            state = json.loads((data / "demo.json").read_text())
            yield Reader(folder, _environment(env, data, state), state, grader_port, hook_port)
        finally:
            process.terminate()
            process.wait(60)
    assert running_with(data) == []


def _environment(env: dict[str, str], data: Path, state: dict[str, str]) -> dict[str, str]:
    """The environment of the examples, including what the server's own commands need."""
    secrets = {f"{name}_FILE": str(data / name.lower()) for name in launch.GENERATED_SECRETS}
    return {
        **env,
        **{name: path for name, path in secrets.items() if Path(path).exists()},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]]),
        "AUTOTUNE_API_KEY": state["apiKey"],
        "AUTOTUNE_BASE_URL": state["url"],
        "AUTOTUNE_TASK_ID": state["taskId"],
        "API": state["api"],
        "KEY": state["apiKey"],
        "AUTH": f"Authorization: Bearer {state['apiKey']}",
        "JSON": "Content-Type: application/json",
        "TASK": state["taskId"],
        "GRADER": state["graderId"],
    }


@pytest.fixture
def operator(tmp_path):
    """A person who sets up a server on PostgreSQL and Redis, with an empty database."""
    with own_environment(tmp_path / "unused", empty=True) as env:
        operator = Operator(tmp_path / "checkout", env["DATABASE_URL"], settings.REDIS_URL)
        yield operator
        operator.end()


@pytest.fixture(scope="session")
def hook_port():
    """The port of a receiver of webhooks that answers 204."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
