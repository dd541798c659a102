"""A whole server for the faults: the Procfile's web, workers and beat, with the services they need, all started by the harness."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from autotune.site.local import launch
from autotune.site.local.ports import LOOPBACK, free_port, listens
from autotune.site.local.supervisor import SupervisedProcess

from . import ROOT
from .database import Database
from .keeper import Keeper
from .servers import Postgres, Redis

SETTINGS = re.compile(
    r"AUTOTUNE_\w+|(DATABASE_URL|REDIS_URL|SECRET_KEY)(_FILE)?|WEB_\w+|WORKER_\w+"
    r"|ALLOWED_HOSTS|PORT|DEBUG|LOG_LEVEL|GUNICORN_CMD_ARGS|DJANGO_SETTINGS_MODULE"
)
PORTS = range(21_000, 29_000)


class System:
    """`postgres` and `redis` are None on the embedded default."""

    def __init__(self, folder: Path, keeper: Keeper, *, embedded: bool, workers: int) -> None:
        self.folder, self.keeper, self.embedded, self.workers = folder, keeper, embedded, workers
        self.ports = ports(6)
        self.grader_port, self.hostile_port, self.receiver_port, web, postgres, redis = self.ports
        self.journals = {name: folder / f"{name}.jsonl" for name in ("graders", "hostile", "receiver")}
        self.postgres = None if embedded else Postgres(folder, postgres)
        self.redis = None if embedded else Redis(folder, redis)
        self._web_port = web

    def start(self) -> None:
        """Returns when the server says that it is ready and every worker works."""
        for name in filter(SETTINGS.fullmatch, list(os.environ)):
            del os.environ[name]  # not the caller's servers, secrets and mail
        base = dict(os.environ)
        if self.postgres and self.redis:
            self.postgres.make()
            self.redis.start()
            base |= {"DATABASE_URL": self.postgres.url, "REDIS_URL": self.redis.url}
        graders, receivers = [self.grader_port, self.hostile_port], [self.receiver_port]
        data = self.folder / "data"
        self.env = launch.environment(
            base, port=self._web_port, data=data, grader_ports=graders, webhook_ports=receivers
        ) | {
            "WEB_WORKERS": "2",
            "WEB_THREADS": "16",
            "AUTOTUNE_KEY_RATE_PER_MINUTE": "1000000",  # one key submits all of it
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        launch.manage(self.env, "migrate", "--noinput", "--verbosity", "0")
        report = launch.bootstrap(self.env, "Faults", "admin@faults.example")
        self.organization, self.key = str(report["organizationId"]), str(report["apiKey"])
        self.database = Database(self.postgres.url if self.postgres else str(data / "autotune.sqlite3"))
        self.program("graders", "grader", self.grader_port)
        self.url = launch.start_server(self.keeper, self.env, workers=self.workers)
        names = self.names("worker") + ["beat"]
        self.keeper.wait_for(lambda: all(map(self.keeper.ready, names)), "the start of the workers", 60)
        self.keeper.restarting = True

    def program(self, name: str, module: str, port: int, *more: str) -> None:
        """A program of the harness, with its journal; returns when it listens."""
        command = (sys.executable, "-m", f"bench.faults.{module}", "--port", str(port), "--journal",
                   str(self.journals[name]), *more)  # fmt: skip
        self.keeper.start(SupervisedProcess(name, command, cwd=ROOT))
        self.keeper.wait_for(lambda: listens(port), f"the start of {name}", 20)

    def add_worker(self, name: str) -> None:
        """One more worker; it may be retired again."""
        process = next(candidate for candidate in launch.server_processes(self.env) if candidate.name == "worker")
        self.keeper.start(SupervisedProcess(name, process.command, env=process.env, cwd=process.cwd))

    def names(self, kind: str) -> list[str]:
        return [name for name in self.keeper.pids if name.partition("-")[0] == kind]

    def servers(self) -> Sequence[Postgres | Redis]:
        return [server for server in (self.redis, self.postgres) if server is not None]


def ports(count: int) -> list[int]:
    """Free ports of loopback, each another one; where to begin differs from run to run."""
    free_ports: list[int] = []
    begin = PORTS.start + os.getpid() * 37 % (len(PORTS) - 500)
    while len(free_ports) < count:
        free_ports.append(free_port(range(free_ports[-1] + 1 if free_ports else begin, PORTS.stop), host=LOOPBACK))
    return free_ports


@contextlib.contextmanager
def running(*, embedded: bool, workers: int, keep: bool = False) -> Iterator[System]:
    """A system that is gone afterwards, whatever happens: processes, servers, files (unless `keep`)."""
    folder = Path(tempfile.mkdtemp(prefix="autotune-faults-"))
    folder.chmod(0o755)  # the user of PostgreSQL must get to its folder
    system = None
    try:
        with Keeper(folder / "logs", grace_s=3.0, say=lambda line: None) as keeper:
            system = System(folder, keeper, embedded=embedded, workers=workers)
            try:
                system.start()
                yield system
            finally:
                keeper.stop()
    finally:
        for server in system.servers() if system else ():
            server.end()
        if keep:
            print(f"logs and journals: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
