"""`/health` reports that the process lives, `/ready` whether it can accept work: only what submitting needs counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from autotune.site.status import probes
from tests.core.test_settings import KEYS, LONG, ROOT

AWAY = {"SECRET_KEY": LONG, "AUTOTUNE_ENCRYPTION_KEYS": KEYS}
AWAY |= {"DATABASE_URL": "postgres://user:hunter2@127.0.0.1:1/autotune", "REDIS_URL": "redis://:hunter3@127.0.0.1:1/0"}


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


@pytest.fixture
def process(tmp_path):
    """`process("/path", "migrate", …, **environment)`: a fresh process asks these paths in turn, or migrates between.

    [status, body, Retry-After] of each path.
    """
    code = """
import json, sys, os
os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
from django.conf import settings
for database in settings.DATABASES.values():  # a pool waits for a server that comes back; the test does not
    database["OPTIONS"].get("pool", {})["timeout"] = 0.2
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from autotune.access.keys.tokens import _text
from autotune.core import ids
KEY = _text("live", ids.new())  # well formed: the database is asked for it
settings.ALLOWED_HOSTS.append("testserver")
client = Client(raise_request_exception=False)
for step in sys.argv[1:]:
    if step == "migrate":
        call_command("migrate", verbosity=0)
        continue
    answer = client.get(step, HTTP_AUTHORIZATION="Bearer " + KEY)
    print(json.dumps([answer.status_code, answer.json(), answer.get("Retry-After")]))
"""

    def ask(*steps, **environment):
        base = {"PATH": os.environ["PATH"], "AUTOTUNE_DATA_DIR": str(tmp_path / "data"), "LOG_LEVEL": "CRITICAL"}
        process = subprocess.run(
            [sys.executable, "-c", code, *steps], cwd=ROOT, env=base | environment, capture_output=True, text=True
        )
        assert process.returncode == 0, process.stderr
        return [json.loads(line) for line in process.stdout.splitlines()]

    return ask


def states(body):
    return {check["name"]: check["status"] for check in body["checks"]}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}, {"Accept": "application/json"}])
def test_health_is_public_and_makes_no_query(client, headers):
    """This test has no database at all."""
    answer = client.get("/api/v1/health", headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_ready_is_public_and_names_its_checks(client):
    answer = client.get("/api/v1/ready", headers={"Authorization": "Bearer nonsense"})
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "ok")
    assert states(body) == dict.fromkeys(["database", "migrations", "encryption", "disk", "broker"], "ok")


@pytest.mark.django_db
def test_probes_know_head_and_no_parameters(client):
    for path in ("/api/v1/health", "/api/v1/ready"):
        assert client.head(path).status_code == 200
        assert client.get(f"{path}?verbose=1").status_code == 400
        assert client.post(path).status_code == 405


@pytest.mark.processes
@pytest.mark.one_engine
def test_pending_migrations_make_it_not_ready_until_they_are_applied(process):
    (before, body, _), (after, done, _), (again, *_) = process(
        "/api/v1/ready", "migrate", "/api/v1/ready", "/api/v1/ready"
    )
    assert (before, body["status"]) == (503, "failed")
    assert states(body)["migrations"] == "failed"
    assert "migrations are pending" in str(body)
    assert (after, done["status"], again) == (200, "ok", 200)


@pytest.mark.processes
@pytest.mark.one_engine
def test_without_its_database_it_is_healthy_but_not_ready(process):
    health, ready, tasks, schema = process("/api/v1/health", "/api/v1/ready", "/api/v1/tasks", "/api/v1/schema", **AWAY)
    assert health[0] == 200
    status, body, _ = ready
    assert (status, body["status"]) == (503, "failed")
    assert states(body) == {"database": "failed", "disk": "ok", "broker": "degraded"}
    assert "hunter" not in str(body)
    assert (tasks[0], tasks[1]["code"]) == (503, "unavailable")
    assert int(tasks[2]) > 0
    assert "hunter" not in str(tasks)
    assert schema[0] == 200


@pytest.mark.processes
@pytest.mark.one_engine
def test_without_redis_it_is_degraded_and_ready(process):
    ((status, body, _),) = process("migrate", "/api/v1/ready", REDIS_URL=AWAY["REDIS_URL"])
    assert (status, body["status"]) == (200, "degraded")
    assert states(body) == {
        "database": "ok",
        "migrations": "ok",
        "encryption": "ok",
        "disk": "ok",
        "broker": "degraded",
    }
    assert "hunter" not in str(body)


@pytest.mark.django_db
def test_a_disk_that_is_nearly_full_makes_it_not_ready(client, monkeypatch):
    monkeypatch.setattr(probes, "MIN_FREE_BYTES", 2**80)
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, states(answer.json())["disk"]) == (503, "failed")
    assert str(Path.cwd()) not in answer.content.decode()
