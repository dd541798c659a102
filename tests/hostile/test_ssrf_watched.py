"""120 hostile addresses and more over register, health, score and webhook, with every connect watched from outside.

strace sees what libcurl, the resolver and Python do alike; a hook in Python would see only its own calls.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import pytest
from autotune_sdk import AutotuneClient, Capabilities
from autotune_sdk.errors import APIError

from autotune.site.local import launch
from autotune.site.local.ports import answers
from autotune.site.local.supervisor import SupervisedProcess, Supervisor
from tests.hostile.urls import PLANTED, SSRF
from tests.support.concurrency import until
from tests.support.fakes import FakeGrader, serving
from tests.support.serving import free_port, own_environment

pytestmark = [pytest.mark.processes, pytest.mark.one_engine, pytest.mark.timeout(300)]
START_S = 90
WORK_S = 120
CONNECT = re.compile(
    r"connect\(\d+<(?P<kind>TCP|UDP)[^>]*>+, \{sa_family=AF_INET6?, sin6?_port=htons\((?P<port>\d+)\).*?"
    r'(?:inet_addr\("|inet_pton\(AF_INET6, ")(?P<address>[^"]+)"'
)


class Receiver(FakeGrader):
    """A grader that takes webhooks at its root too."""

    def answer(self, handler, path, body):
        if path != "/":
            return super().answer(handler, path, body)
        self.calls.append((path, body))
        return 200, {}, False


def strace():
    path = shutil.which("strace")
    if path is None and os.environ.get("CI"):
        pytest.fail("strace is missing; CI must have it")
    return path or pytest.skip("no strace")


def connects(trace):
    """{(address, port)} of the TCP connects. Those of UDP send nothing: the C library asks for a source address."""
    matches = [CONNECT.search(line) for line in trace.read_text(errors="replace").splitlines() if "AF_INET" in line]
    assert None not in matches, "a line of strace that cannot be read"
    return {(match["address"], int(match["port"])) for match in matches if match["kind"] == "TCP"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Web and worker under strace, on SQLite and files, so that no connect but an outbound call's is ever needed."""
    data, watcher = tmp_path_factory.mktemp("watched"), strace()
    with serving(Receiver()) as grader, own_environment(data, empty=True) as base, Supervisor(data / "logs") as tree:
        base = {**base, "DATABASE_URL": "", "REDIS_URL": "", "WEB_WORKERS": "1", "AUTOTUNE_KEY_RATE_PER_MINUTE": "0"}
        env = launch.environment(
            base, port=free_port(), data=data, grader_ports=[grader.port], webhook_ports=[grader.port]
        )
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        planted = subprocess.run(
            [sys.executable, "-m", "tests.hostile.plant"], env={**env, "DJANGO_SETTINGS_MODULE": "autotune.settings"},
            input=json.dumps({"good": f"{grader.url}/", "hostile": PLANTED}), cwd=launch.ROOT, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert planted.returncode == 0, planted.stderr
        traces = {name: data / f"{name}.trace" for name in ("web", "worker")}
        for process in launch.server_processes(env):
            if process.name in traces:
                options = ("-f", "-qq", "-yy", "--seccomp-bpf", "-e", "trace=connect", "-e", "signal=none")
                command = (watcher, *options, "-o", str(traces[process.name]), *process.command)
                tree.start(SupervisedProcess(process.name, command, process.env, process.cwd))
        tree.wait_for(lambda: answers(int(env["PORT"]), launch.READY_PATH), "the start of the web process", START_S)
        url = f"http://127.0.0.1:{env['PORT']}"
        world = json.loads(planted.stdout.splitlines()[-1])
        with AutotuneClient(world["key"], url, max_retries=0) as client:
            yield SimpleNamespace(
                client=client, traces=traces, control=("127.0.0.1", grader.port), fake=grader, graders=world["graders"],
                database=data / "autotune.sqlite3", tree=tree, env=env, watch=(watcher, *options), data=data,
            )  # fmt: skip


def count(watched, query):
    with sqlite3.connect(f"file:{watched.database}?mode=ro", uri=True, timeout=20) as connection:
        return connection.execute(query).fetchone()[0]


def test_the_list_of_addresses_is_long_enough():
    assert len(set(SSRF)) == len(SSRF) >= 120
    assert len(PLANTED) >= 120


def register(client, what, url):
    if what == "graders":
        return client.graders.create(name="x", endpoint=url, capabilities=Capabilities(max_batch_size=1))
    return client.webhooks.create(url=url, events=["score.completed"])


@pytest.mark.parametrize("what", ["graders", "webhooks"])
def test_d01_to_d06_none_can_be_registered(watched, what):
    for url in SSRF:
        with pytest.raises(APIError) as refused:
            register(watched.client, what, url)
        assert refused.value.status == 400, url
        assert {error.pointer for error in refused.value.errors} <= {"/endpoint", "/url"}, url


def test_none_can_replace_an_existing_address(watched):
    client = watched.client
    webhook = next(iter(client.webhooks.list())).id
    for url in SSRF:
        for change in (
            lambda url=url: client.graders.update(watched.graders[0], endpoint=url),
            lambda url=url: client.webhooks.update(webhook, url=url),
        ):
            with pytest.raises(APIError) as refused:
                change()
            assert refused.value.status == 400, url


def test_the_scheduled_health_check_calls_none(watched):
    trace = watched.data / "health.trace"
    program = "import django; django.setup(); from graders.health import reports; print(reports.check_due())"
    done = subprocess.run(
        [*watched.watch, "-o", str(trace), sys.executable, "-c", program], cwd=launch.ROOT, capture_output=True, text=True,
        env={**watched.env, "DJANGO_SETTINGS_MODULE": "autotune.settings"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == len(watched.graders)
    assert connects(trace) == {watched.control}


def test_b32_none_is_called_by_health_score_or_webhook_even_if_it_is_stored(watched):
    good, *hostile = watched.graders
    for grader in hostile:
        assert not watched.client.graders.verify(grader).verified
    assert {check.name for check in watched.client.graders.verify(good).checks if check.passed} >= {"health", "score"}
    tried = "select count(*) from webhooks_delivery where failures > 0 or status = 'delivered'"
    until(lambda: count(watched, tried) == len(watched.graders), seconds=WORK_S, every_s=0.2)
    begun = "select count(*) from scores_workflowrun where status in ('pending', 'running')"
    until(lambda: count(watched, begun) == 0, seconds=WORK_S, every_s=0.2)
    assert count(watched, "select count(*) from scores_score") == 1
    assert count(watched, "select count(*) from webhooks_delivery where status = 'delivered'") == 1

    paths = {path for path, _ in watched.fake.calls}
    assert paths >= {"/score", "/"}, "the positive control was not called"
    for name, trace in watched.traces.items():
        seen = connects(trace)
        assert watched.control in seen, f"the watcher of {name} saw no connect at all"
        assert seen == {watched.control}, name
