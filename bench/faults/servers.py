"""PostgreSQL and Redis of the harness's own, made for it and removed after it: nobody else's are touched."""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg
import redis

from autotune.site.local.ports import LOOPBACK
from autotune.site.local.supervisor import SupervisorError, tail

PATIENCE_S = 30.0
PR_SET_PDEATHSIG = 1
POSTGRES_SETTINGS = """
listen_addresses = '{host}'
port = {port}
unix_socket_directories = ''
max_connections = 300
shared_buffers = 128MB
fsync = off                      # processes are killed here, not machines
log_lock_waits = on
"""


class Server:
    """One server process that can be ended and started again on the same port and data."""

    name = "server"
    farewell = signal.SIGTERM  # what ends it in order

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.log = folder / f"{self.name}.log"
        self._popen: subprocess.Popen | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Returns when it answers."""
        parent = os.getpid()
        with self.log.open("ab") as out:
            self._popen = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: end_with(parent, self.farewell),
                **self.identity(),
            )
        until = time.monotonic() + PATIENCE_S
        while not self.answers():
            if self._popen.poll() is not None or time.monotonic() > until:
                raise SupervisorError("\n".join([f"{self.name} does not start:", *tail(self.log, 12)]))
            time.sleep(0.05)

    def identity(self) -> dict:
        """Whom it runs as."""
        return {}

    def end(self, how: int | None = None) -> None:
        """End it in order, or by the signal given; returns when it is gone."""
        if self._popen is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(how or self.farewell)
        try:
            self._popen.wait(10)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
        self._popen = None


class Redis(Server):
    name = "redis"

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def command(self) -> list[str]:
        program = shutil.which("redis-server") or no_program("redis-server")
        return [program, "--bind", LOOPBACK, "--port", str(self.port), "--save", "", "--appendonly", "no",
                "--dir", str(self.folder)]  # fmt: skip

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def flush(self) -> None:
        with redis.Redis.from_url(self.url, socket_timeout=5) as client:
            client.flushall()

    def kill(self) -> None:
        self.end(signal.SIGKILL)


class Postgres(Server):
    """A cluster of its own. It does not run as root, so root hands it to the user `postgres`."""

    name = "postgres"
    farewell = signal.SIGINT  # "fast": SIGTERM would wait for the clients

    def __init__(self, folder: Path, port: int, database: str = "faults") -> None:
        super().__init__(folder, port)
        self.database = database
        self.data = folder / "postgres"

    @property
    def url(self) -> str:
        return f"postgres://postgres@{LOOPBACK}:{self.port}/{self.database}"

    def identity(self) -> dict:
        if os.geteuid() != 0:
            return {}
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise SupervisorError("root needs a user `postgres` to run PostgreSQL as") from None
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def make(self) -> None:
        """An empty cluster with the database."""
        self.data.mkdir(parents=True)
        as_whom = self.identity()
        if as_whom:
            os.chown(self.data, as_whom["user"], as_whom["group"])
        initdb = [program("initdb"), "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
                  "--locale", "C.UTF-8"]  # fmt: skip
        done = subprocess.run(initdb, cwd=self.data, capture_output=True, text=True, **as_whom)
        if done.returncode:
            raise SupervisorError(f"initdb failed: {done.stderr.strip()[-500:]}")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(POSTGRES_SETTINGS.format(host=LOOPBACK, port=self.port))
        self.start()
        with self._maintenance() as db:
            db.execute(f"create database {self.database}")

    def command(self) -> list[str]:
        return [program("postgres"), "-D", str(self.data)]

    def answers(self) -> bool:
        try:
            with self._maintenance():
                return True
        except psycopg.Error:
            return False

    def restart(self, how: int) -> float:
        """End it by `how` (SIGINT fast, SIGQUIT at once, without a checkpoint) and start it again; seconds away."""
        began = time.monotonic()
        self.end(how)
        self.start()
        return time.monotonic() - began

    def cut(self) -> int:
        """End every client's connection, wait until each is gone, and return their number."""
        with self._maintenance() as db:
            return len(
                db.execute(
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                    " where pid <> pg_backend_pid() and backend_type = 'client backend'"
                ).fetchall()
            )

    def refuse_writes(self, *, cuts: bool = True) -> None:
        """Make new connections read-only, as in a failover.

        cuts  whether to cut open connections, as a failover does
        """
        with self._maintenance() as db:
            db.execute(f"alter database {self.database} set default_transaction_read_only = on")
        if cuts:
            self.cut()

    def take_writes(self) -> None:
        """Make new connections writable again, without cutting any."""
        with self._maintenance() as db:
            db.execute(f"alter database {self.database} reset default_transaction_read_only")

    def deadlocks(self) -> int:
        with self._maintenance() as db:
            row = db.execute("select deadlocks from pg_stat_database where datname = %s", (self.database,)).fetchone()
        return row[0] if row else 0

    def _maintenance(self) -> psycopg.Connection:
        url = f"postgres://postgres@{LOOPBACK}:{self.port}/postgres"
        return psycopg.connect(url, autocommit=True, connect_timeout=3)


def program(name: str) -> str:
    """A program of PostgreSQL: on the path, or where Debian keeps it."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(kept[-1]) if kept else shutil.which(name) or no_program(name)


def no_program(name: str) -> str:
    raise SupervisorError(f"{name} is not installed")


def end_with(parent: int, number: int) -> None:
    """In the child, before its program starts: the kernel ends it when the harness dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)
