"""Two deployments that migrate at the same time: one does it, and the other finds it done."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings

pytestmark = [pytest.mark.postgres, pytest.mark.processes, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty():
    """The URL of a database with nothing in it."""
    server, name = urlsplit(settings.DATABASE_URL), f"autotune_migrating_{os.getpid()}"
    with psycopg.connect(server._replace(path="/postgres").geturl(), autocommit=True) as connected:
        connected.execute(f"drop database if exists {name}")
        connected.execute(f"create database {name}")
        yield server._replace(path=f"/{name}").geturl()
        connected.execute(f"drop database {name} with (force)")


def test_concurrent_migrations_both_succeed(empty, tmp_path):
    environment = os.environ | {"DATABASE_URL": empty, "AUTOTUNE_DATA_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "manage.py", "migrate"], cwd=ROOT, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert sorted("No migrations to apply" in text for text in outputs) == [False, True]
