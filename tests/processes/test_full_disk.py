"""A worker starts and works even if it cannot write its output because the disk of its log is full."""

import subprocess

import psycopg
import pytest

from autotune.site.local import launch
from tests.support.concurrency import until
from tests.support.serving import free_port, own_environment

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.timeout(180)]


def test_c45_a_worker_whose_log_disk_is_full_sweeps(tmp_path):
    with own_environment(tmp_path) as base, open("/dev/full", "wb") as full:
        env = launch.environment(base, port=free_port(), data=tmp_path, grader_ports=[])
        worker = next(process for process in launch.server_processes(env) if process.name == "worker")
        process = subprocess.Popen(worker.command, env=dict(worker.env), cwd=worker.cwd, stdout=full, stderr=full)
        try:

            def swept():
                with psycopg.connect(env["DATABASE_URL"]) as connection:
                    return connection.execute("select at from scores_pulse where name = 'sweep'").fetchone()

            first = until(swept, seconds=90)
            until(lambda: swept() > first, seconds=30)
            assert process.poll() is None
        finally:
            process.terminate()
            process.wait(60)
