"""A server of an example's own on this machine, with graders in other processes.

On SQLite, or on PostgreSQL + Redis with DATABASE_URL and REDIS_URL. Each run makes a grader and a task of its own, so
that earlier runs in the same database do not count.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autotune_sdk import AutotuneClient, Capabilities

from autotune.site.local import credentials, databases, kept, launch
from autotune.site.local.ports import free_port, listens
from autotune.site.local.supervisor import Supervisor, SupervisorError

GRADER_PORTS = range(9200, 9300)
SERVER_PORTS = range(8100, 8200)
GRADER_START_S = 20.0


@dataclass(frozen=True)
class Server:
    """A running server, an administrator's client of it, and the port that its grader is to listen on.

    folder   where the run keeps its files
    database a short name: `sqlite`, or `postgres-` and 8 hex digits
    """

    client: AutotuneClient
    tree: Supervisor
    folder: Path
    database: str
    address: str
    grader_port: int


@dataclass(frozen=True)
class GraderFolder:
    """A grader of the published kit: `grader` in `grader.py` of a folder, and what it says of itself."""

    path: Path
    description: str
    capabilities: Capabilities


@dataclass(frozen=True)
class Judged:
    """A task and its only grader, with the file in which the grader's process notes what it judged.

    logged_before  bytes of it that were written by the verification
    """

    task_id: str
    grader_id: str
    log: Path
    logged_before: int


@contextmanager
def server(name: str, *, organization: str) -> Iterator[Server]:
    """Migrate and start web, worker and beat under `var/<name>`; all end with the block.

    raises SupervisorError in words that say what to do
    """
    data = launch.data_dir(os.environ, default=f"var/{name}")
    database = databases.label(os.environ)
    folder = data / f"{name}-{database}"
    grader_port = free_port(GRADER_PORTS)
    port = int(os.environ.get("PORT") or free_port(SERVER_PORTS))
    env = launch.environment(os.environ, port=port, data=data, grader_ports=[grader_port])
    with Supervisor(data / "logs") as tree:
        if url := env.get("DATABASE_URL"):
            databases.create_if_missing(url)
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        admin, _ = credentials.obtain(
            env, folder / "state.json", organization=organization, admin_email=f"admin@{name}.example"
        )
        address = launch.start_server(tree, env)
        with AutotuneClient(admin["apiKey"], address) as client:
            yield Server(client, tree, folder, database, address, grader_port)


def judged_task(server: Server, name: str, grader: GraderFolder) -> Judged:
    """Register, start and verify the grader; make the task.

    raises SupervisorError if the grader does not start or is not verified
    """
    unique = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    log, secret = server.folder / f"{unique}.jsonl", server.folder / f"{unique}.secret"
    registration = server.client.graders.create(
        name=unique,
        description=grader.description,
        endpoint=f"http://127.0.0.1:{server.grader_port}",
        capabilities=grader.capabilities,
    )
    shared = registration.credentials and registration.credentials.shared_secret
    if not shared:
        raise SupervisorError("the registration gave no secret")
    kept.write(secret, shared)
    port = server.grader_port
    server.tree.start(
        launch.kit_grader(f"{name}-grader", "grader:grader", folder=grader.path, port=port, secret_file=secret, log=log)
    )
    server.tree.wait_for(lambda: listens(port), "the start of the grader", GRADER_START_S)
    verified = server.client.graders.verify(registration.grader.id)
    if not verified.verified:
        raise SupervisorError(f"the grader was not verified: {verified.checks}")
    task = server.client.tasks.create(name=unique, prompt_template="{{prompt}}", grader_id=registration.grader.id)
    return Judged(task.id, registration.grader.id, log, log.stat().st_size)
