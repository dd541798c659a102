"""A worker starts and works with the sweep even if Redis takes no writes because its memory is full."""

import shutil
import subprocess

import psycopg
import pytest
import redis
from kombu import Connection
from kombu.exceptions import OperationalError

from autotune.site.local import launch
from autotune.site.local.ports import listens
from autotune.site.local.supervisor import Supervisor
from tests.support.concurrency import until
from tests.support.serving import free_port, own_environment

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(180)]


@pytest.fixture
def full_redis(tmp_path):
    """The address of a Redis whose memory is full, and a function that frees memory."""
    port = free_port()
    command = [
        shutil.which("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
        "--dir", str(tmp_path), "--maxmemory-policy", "noeviction",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until(lambda: listens(port))
    client = redis.Redis(port=port)
    client.set("filler", b"x" * 2**20)
    client.config_set("maxmemory", 1)
    yield f"redis://127.0.0.1:{port}/0", lambda: client.config_set("maxmemory", 0)
    client.close()
    process.terminate()
    process.wait(20)


def test_c42_a_broker_that_takes_no_writes_is_refused_where_celery_waits(full_redis):
    url, make_room = full_redis
    with Connection(url, transport_options={"max_retries": 0}) as connection:
        with pytest.raises(OperationalError, match="takes no writes"):
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
        make_room()
        connection.ensure_connection(max_retries=1)
        assert connection.default_channel.client.ping()


def test_c42_a_worker_starts_and_sweeps_and_takes_messages_when_there_is_room(full_redis, tmp_path):
    url, make_room = full_redis
    with own_environment(tmp_path) as base, Supervisor(tmp_path / "logs") as tree:
        env = launch.environment({**base, "REDIS_URL": url}, port=free_port(), data=tmp_path, grader_ports=[])
        tree.start(next(process for process in launch.server_processes(env) if process.name == "worker"))

        def swept():
            with psycopg.connect(env["DATABASE_URL"]) as connection:
                return connection.execute("select at from scores_pulse where name = 'sweep'").fetchone()

        first = until(swept, seconds=90)
        until(lambda: swept() > first, seconds=30)
        tree.check()
        log = tree.log_of("worker").read_text()
        assert "Redis takes no writes" in log
        assert "Unrecoverable" not in log
        make_room()
        until(lambda: "ready." in tree.log_of("worker").read_text(), seconds=60)


def test_c42_readiness_is_degraded(full_redis, settings, monkeypatch):
    from autotune.core import redis as client
    from autotune.site.status import probes

    url, make_room = full_redis
    settings.REDIS_URL = url
    monkeypatch.setattr(client, "_client", None)
    monkeypatch.setattr(client, "_away_until", 0.0)
    assert probes._broker().status == "degraded"
    make_room()
    monkeypatch.setattr(client, "_away_until", 0.0)
    assert probes._broker().status == "ok"
    client._client.close()
