"""The whole server in processes of its own, on the engine of the environment, with a grader made with the kit."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from autotune_sdk import AutotuneClient, Capabilities, Limits
from django.conf import settings
from psycopg import sql

from autotune.site.local import databases, launch
from autotune.site.local.ports import answers, listens
from autotune.site.local.supervisor import SupervisedProcess, Supervisor, tail
from tests.support import migrated
from tests.support.concurrency import until

SPARE_PORTS = 4
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


@contextmanager
def own_environment(data, *, empty=False):
    """The environment of a server that shares nothing with others: `data` is its folder, its database is new.

    empty  whether nothing has run on the database, not even the migrations
    """
    env = {**os.environ, "AUTOTUNE_DATA_DIR": str(data), "DATABASE_URL": "", "REDIS_URL": settings.REDIS_URL}
    if settings.DATABASE_URL:
        name = f"{urlsplit(settings.DATABASE_URL).path[1:]}_{hashlib.sha256(str(data).encode()).hexdigest()[:8]}"
        env["DATABASE_URL"] = databases.sibling(settings.DATABASE_URL, name)
    if not empty:
        migrated.copy_to(env)
    elif env["DATABASE_URL"]:
        databases.create_if_missing(env["DATABASE_URL"])
    try:
        yield env
    finally:
        if env["DATABASE_URL"]:
            maintenance = databases.sibling(env["DATABASE_URL"], databases.MAINTENANCE)
            with psycopg.connect(maintenance, autocommit=True) as connection:
                connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def running_with(data):
    """Process ids of whatever runs with this data folder in its environment."""
    marker = f"AUTOTUNE_DATA_DIR={data}".encode()
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if marker in (folder / "environ").read_bytes().split(b"\0"):
                    pids.append(int(folder.name))
            except OSError:  # it has ended, or is somebody else's
                continue
    return pids


@dataclass
class Server:
    """Web, a worker, beat, live and a grader. `client` has the key of the first organization.

    admin        {adminEmail, adminPassword, …} of whom the command made
    spare_ports  on which graders of tests may listen: the server may call them
    """

    tree: Supervisor
    env: dict[str, str]
    client: AutotuneClient
    admin: dict[str, str]
    grader_id: str
    grader_log: Path
    spare_ports: list[int]

    @property
    def key(self):
        return self.admin["apiKey"]

    def start_grader(self, name, port, secret):
        """One more of these graders, at a spare port; the file of its secret, which it reads again when it changes."""
        folder = self.grader_log.parent
        secret_file = folder / f"{name}.secret"
        secret_file.write_text(secret)
        self.tree.start(
            launch.kit_grader(
                name, "digits:grader", folder=folder, port=port, secret_file=secret_file, log=folder / f"{name}.jsonl"
            )
        )
        until(lambda: listens(port))
        return secret_file

    def start(self, kind, name):
        """One more process of a Procfile's kind."""
        process = next(candidate for candidate in launch.server_processes(self.env) if candidate.name == kind)
        self.tree.start(SupervisedProcess(name, process.command, process.env, process.cwd))

    def ensure(self, kind, name):
        """The same unless it runs: a test may meet the server fresh or after others."""
        if name not in self.tree.pids or not self.lives(name):
            self.start(kind, name)

    def end_all(self, kind):
        """Every process of the kind has ended as it should, under whatever name a test before this one started it."""
        command = next(candidate.command for candidate in launch.server_processes(self.env) if candidate.name == kind)
        running = [
            child for child in self.tree._children if child.process.command == command and child.popen.poll() is None
        ]
        for child in running:
            os.killpg(child.popen.pid, signal.SIGTERM)
        until(lambda: all(child.popen.poll() is not None for child in running), seconds=60)

    def kill(self, name, number=signal.SIGKILL):
        """A signal to a process and all that it started."""
        os.killpg(self.tree.pids[name], number)

    def lives(self, name):
        return any(child.process.name == name and child.popen.poll() is None for child in self.tree._children)

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
def web_process(data):
    """Only the web process, on a new database: its port, and a key of an admin."""
    with own_environment(data) as base, Supervisor(data / "logs") as tree:
        env = launch.environment(base, port=free_port(), data=data, grader_ports=[])
        key = launch.bootstrap(env, "Tests", "admin@example.org")["apiKey"]
        tree.start(next(process for process in launch.server_processes(env) if process.name == "web"))
        tree.wait_for(lambda: answers(int(env["PORT"]), launch.READY_PATH), "the start of the web process", 60)
        yield int(env["PORT"]), key


@contextmanager
def whole_server(data):
    """Everything started, a grader registered and verified; ends every process."""
    port, grader_port, live_port, *spare = (free_port() for _ in range(3 + SPARE_PORTS))
    (data / "digits.py").write_text(GRADER)
    secret, log = data / "secret", data / "graded.jsonl"
    with own_environment(data) as base, Supervisor(data / "logs") as tree:
        env = launch.environment(base, port=port, data=data, grader_ports=[grader_port, *spare], live_port=live_port)
        admin = launch.bootstrap(env, "Tests", "admin@example.org")
        with AutotuneClient(admin["apiKey"], launch.start_server(tree, env)) as client:
            registration = client.graders.create(
                name="Digits",
                endpoint=f"http://127.0.0.1:{grader_port}",
                capabilities=Capabilities(max_batch_size=5, supports_explanations=True, avg_latency_ms=10),
                limits=Limits(max_concurrency=2),
            )
            secret.write_text(registration.credentials.shared_secret)
            tree.start(
                launch.kit_grader("grader", "digits:grader", folder=data, port=grader_port, secret_file=secret, log=log)
            )
            until(lambda: listens(grader_port))
            verified = client.graders.verify(registration.grader.id)
            assert verified.verified, verified.checks
            yield Server(tree, env, client, admin, registration.grader.id, log, spare)
