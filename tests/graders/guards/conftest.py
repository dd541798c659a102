"""A grader with guards, a fixed clock, and a Redis server of the test's own."""

import os
import shutil
import socket
import subprocess
from types import SimpleNamespace

import pytest
import redis as client

from autotune.core import redis
from tests.factories import GraderFactory
from tests.graders.guards.workers import Clock, Worker
from tests.support.concurrency import until


@pytest.fixture
def grader(db):
    return GraderFactory(max_concurrency=16, max_batch_size=100)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def worker(grader, clock):
    """`worker('a')`: a worker that has requested 16 calls, or `want`."""

    def make(drain_id="a", *, want=16):
        worker = Worker(grader, drain_id, clock)
        worker.ask(want)
        return worker

    return make


@pytest.fixture
def own_redis(settings, monkeypatch):
    """`.kill()`, `.start()`, `.flush()`, `.commands()` of a server that only this test uses, and that guards connect to."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("redis-server is missing; CI must have it")
        pytest.skip("no redis-server on this machine")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = SimpleNamespace(process=None)
    connected = client.Redis(port=port, socket_timeout=1)

    def answers():
        try:
            return connected.ping()
        except client.RedisError:
            return False

    def start():
        server.process = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL,
        )
        until(answers)
        monkeypatch.setattr(redis, "_away_until", 0.0)

    def kill():
        server.process.kill()
        server.process.wait()

    server.start, server.kill = start, kill
    server.flush = lambda: connected.flushall()
    server.commands = lambda: connected.info("stats")["total_commands_processed"]
    start()
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    monkeypatch.setattr(redis, "_client", None)
    yield server
    kill()
    connected.close()


@pytest.fixture
def at_home(request, settings):
    """`at_home("database")`, `at_home("redis")`: where the guards' state lives."""

    def move(name):
        settings.REDIS_URL = ""
        if name == "redis":
            request.getfixturevalue("own_redis")

    return move


@pytest.fixture(params=["database", "redis"])
def home(request, at_home):
    """Both homes, one after the other."""
    at_home(request.param)


@pytest.fixture(params=[pytest.param("database", marks=pytest.mark.postgres), "redis"])
def busy_home(request, at_home):
    """The same where several write at once; the tests' SQLite lives in memory and knows no waiting."""
    at_home(request.param)
