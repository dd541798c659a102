"""The whole server in processes of its own, on the engine of the environment, with a grader made with the kit."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autotune_sdk import AutotuneClient, Capabilities, Limits
from django.conf import settings

from autotune.site import databases, launch
from autotune.site.ports import listens
from autotune.site.supervisor import Process, Supervisor, tail
from tests.concurrency import until

GRADER = '''
import time
from autotune_sdk.grader import CannotJudge, Grader

grader = Grader("Digits", "1.2.3", max_batch_size=5, supports_explanations=True)


@grader.score_batch
def score(completions):
    """The response is the score in hundredths; `metadata.pauseMs` of the first is how long the batch takes."""
    time.sleep((completions[0].metadata or {}).get("pauseMs", 0) / 1000)
    return [
        (int(one.response) / 100, 0.9, f"it says {one.response}") if one.response.isdigit() else CannotJudge("no digits")
        for one in completions
    ]
'''


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def own_environment(data):
    """The environment of a server that shares nothing with others: `data` is its folder, its database is new."""
    base = {**os.environ, "AUTOTUNE_DATA_DIR": str(data), "DATABASE_URL": "", "REDIS_URL": ""}
    if settings.DATABASE_URL:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        url = databases.sibling(settings.DATABASE_URL, f"{databases._name(settings.DATABASE_URL)}_processes_{worker}")
        databases.create_afresh(url)
        base |= {"DATABASE_URL": url, "REDIS_URL": settings.REDIS_URL}
    return base


def drop_database(env):
    if env["DATABASE_URL"]:
        databases.create_afresh(env["DATABASE_URL"])  # empty, so that nothing large is left behind


def running_with(data):
    """Process ids of whatever runs with this data folder in its environment."""
    wanted = f"AUTOTUNE_DATA_DIR={data}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:  # it has ended, or is somebody else's
                continue
    return found


@dataclass
class Server:
    """Web, a worker, beat and a grader. `client` has the key of the first organization."""

    tree: Supervisor
    env: dict[str, str]
    data: Path
    client: AutotuneClient
    key: str
    grader_id: str
    grader_log: Path

    def start(self, kind, name):
        """One more process of a Procfile's kind."""
        process = next(one for one in launch.server_processes(self.env) if one.name == kind)
        self.tree.start(Process(name, process.command, process.env, process.cwd))

    def kill(self, name, number=signal.SIGKILL):
        """A signal to a process and all that it started."""
        os.killpg(self.tree.pids[name], number)

    def lives(self, name):
        return next(child.popen.poll() for child in self.tree._children if child.process.name == name) is None

    def log(self, name):
        return "\n".join(tail(self.tree.log_of(name), 40))

    def task(self, name, **fields):
        return self.client.tasks.create(name=name, prompt_template="{{prompt}}", grader_id=self.grader_id, **fields)

    def submit(self, task, count, *, pause_ms=0):
        """Completions whose scores are 0.00, 0.01, … 0.99, 0.00, …; their ids."""
        items = [
            {"model_id": f"model-{n % 3}", "prompt": f"p{n}", "response": str(n % 100), "external_id": str(n),
             "metadata": {"pauseMs": pause_ms}}
            for n in range(count)
        ]  # fmt: skip
        return self.client.completions.submit_batch(items, task_id=task.id).ids

    def command(self, *arguments):
        """A command of the client's, with the server's address and key; its errors are in `.stderr`."""
        env = {**os.environ, "AUTOTUNE_API_KEY": self.key, "AUTOTUNE_BASE_URL": self.client.base_url}
        command = [sys.executable, "-m", "autotune_sdk.cli", *map(str, arguments)]
        return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


@contextmanager
def whole_server(data):
    """Everything started, a grader registered and verified; ends every process."""
    base, port, grader_port = own_environment(data), free_port(), free_port()
    env = launch.environment(base, port=port, data=data, grader_ports=[grader_port])
    (data / "digits.py").write_text(GRADER)
    secret, log = data / "secret", data / "graded.jsonl"
    with Supervisor(data / "logs") as tree:
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        made = launch.bootstrap(env, "Tests", "admin@example.org")
        address = launch.start_server(tree, env)
        with AutotuneClient(made["apiKey"], address) as client:
            registered = client.graders.create(
                name="Digits",
                endpoint=f"http://127.0.0.1:{grader_port}",
                capabilities=Capabilities(max_batch_size=5, supports_explanations=True, avg_latency_ms=10),
                limits=Limits(max_concurrency=2),
            )
            secret.write_text(registered.credentials.shared_secret)
            tree.start(
                launch.kit_grader("grader", "digits:grader", folder=data, port=grader_port, secret_file=secret, log=log)
            )
            until(lambda: listens(grader_port))
            verified = client.graders.verify(registered.grader.id)
            assert verified.verified, verified.checks
            yield Server(tree, env, data, client, made["apiKey"], registered.grader.id, log)
    drop_database(base)
