"""A PostgreSQL cluster that tests may stop, freeze and start, and a web process on it."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.conf import settings

from autotune.site.local import databases, launch
from autotune.site.local.ports import answers
from autotune.site.local.supervisor import Supervisor
from bench.faults.servers import Postgres
from tests.support import migrated
from tests.support.serving import free_port

PATIENCE_S = 30.0


class OwnPostgres(Postgres):
    """A cluster that tests can also freeze: the server runs, but does not answer."""

    def freeze(self):
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        if self._popen is None:
            return
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number):
        main = self._popen.pid
        children = [int(pid) for pid in Path(f"/proc/{main}/task/{main}/children").read_text().split()]
        for pid in [main, *children]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


@contextlib.contextmanager
def own_postgres(*, tables):
    """Yield a running cluster with a database; with `tables`, the database is as the migrations leave it."""
    folder = Path(tempfile.mkdtemp(prefix="autotune-outages-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user
    server = OwnPostgres(folder, free_port())
    try:
        server.make()
        if tables:
            _copy_migrated_to(server.url)
        yield server
    finally:
        with contextlib.suppress(Exception):
            server.thaw()
        server.end(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _copy_migrated_to(url):
    source = databases.sibling(settings.DATABASE_URL, migrated.source())
    dump = subprocess.run(["pg_dump", "--no-owner", source], capture_output=True, check=True)
    subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", url], input=dump.stdout, check=True, capture_output=True)


@dataclass
class Web:
    """The processes `web` and `live`, as the Procfile starts them."""

    postgres: OwnPostgres
    tree: Supervisor
    port: int
    live_port: int
    key: str

    def ask_live(self, path, body):
        """Send a POST to the process `live`; returns the same as `ask`."""
        return self.ask("POST", path, body, port=self.live_port)

    def ask(self, method, path, body=None, *, prefix="/api/v1", port=0, timeout_s=PATIENCE_S, **headers):
        """Send one request on its own connection; return (status, answer, headers, seconds)."""
        started = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=timeout_s)
        all_headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers}
        try:
            connection.request(method, prefix + path, None if body is None else json.dumps(body), all_headers)
            answer = connection.getresponse()
            text = answer.read()
            content = json.loads(text) if text.startswith(b"{") else text.decode("utf-8", "replace")
            return answer.status, content, dict(answer.getheaders()), time.monotonic() - started
        finally:
            connection.close()

    def at_once(self, count, method, path, body=None):
        """Send `count` requests at the same moment; return what `ask` returns for each."""
        answers_by_number, start = [None] * count, threading.Barrier(count)

        def run(number):
            start.wait()
            answers_by_number[number] = self.ask(method, path, body)

        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
        return answers_by_number

    def log(self):
        return self.tree.log_of("web").read_text()

    def events(self, **filters):
        """The audit trail's rows that match: (action, status, code, objects_count)."""
        where = " and ".join(f"{name} = %s" for name in filters) or "true"
        with psycopg.connect(self.postgres.url) as connection:
            statement = f"select action, status, code, objects_count from access_auditevent where {where}"
            return connection.execute(statement, list(filters.values())).fetchall()


@contextlib.contextmanager
def web_on(postgres, folder, **more):
    """Run `web` and `live` on this cluster, with `more` in their environment."""
    base = {
        **os.environ,
        "DATABASE_URL": postgres.url,
        "REDIS_URL": settings.REDIS_URL,
        "AUTOTUNE_DATA_DIR": str(folder),
    }
    with Supervisor(folder / "logs") as tree:
        env = launch.environment(base, port=free_port(), data=folder, grader_ports=[], live_port=free_port())
        env |= more
        key = launch.bootstrap(env, "Tests", "admin@example.org")["apiKey"]
        for process in launch.server_processes(env):
            if process.name in ("web", "live"):
                tree.start(process)
        port, live_port = int(env["PORT"]), int(env["LIVE_PORT"])
        tree.wait_for(lambda: answers(port, launch.READY_PATH), "the start of the web process", 60)
        tree.wait_for(lambda: answers(live_port, launch.HEALTH_PATH), "the start of live", 60)
        yield Web(postgres, tree, port, live_port, key)


def seconds_until(holds, *, patience_s=PATIENCE_S):
    """Poll `holds()` until it is true; return how many seconds that took."""
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < patience_s, "the condition did not become true"
        threading.Event().wait(0.05)
    return time.monotonic() - started
