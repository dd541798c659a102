"""The proxy example of the operators' guide passes large bodies, long waits, streams, and the client's address."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import requests

from autotune.site.local.ports import listens
from tests.support.concurrency import until
from tests.support.serving import free_port
from tests.support.snippets import ROOT, snippets_of

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
AROUND = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {server}
}}
"""


@pytest.fixture
def proxied(server, tmp_path):
    """The address of an nginx before the server, configured by the guide's example without TLS."""
    if NGINX is None:
        assert not os.environ.get("CI"), "nginx is missing"
        pytest.skip("nginx is not installed")
    (example,) = [snippet for snippet in snippets_of(ROOT / "docs/operations.md") if snippet.language == "nginx"]
    port = free_port()
    text = example.source.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    text = "\n".join(line for line in text.splitlines() if "ssl_certificate" not in line)
    text = text.replace("127.0.0.1:8001", f"127.0.0.1:{server.env['LIVE_PORT']}")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{server.env['PORT']}")
    (tmp_path / "nginx.conf").write_text(AROUND.format(folder=tmp_path, server=text))
    process = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
    until(lambda: listens(port) or process.poll() is not None)
    assert process.poll() is None, (tmp_path / "error.log").read_text()
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


def test_c45_the_example_configuration_passes_large_bodies(server, proxied):
    task = server.task("proxied")
    items = [{"modelId": "m", "prompt": "p", "response": "x" * 500_000} for _ in range(12)]
    answer = requests.post(
        f"{proxied}/api/v1/completions/batch",
        json={"completions": [{"taskId": task.id, **item} for item in items]},
        headers={"Authorization": f"Bearer {server.key}", "Host": "localhost"},
        timeout=60,
    )
    assert answer.status_code == 202, answer.text


def test_c45_a_body_that_is_too_large_gets_a_problem_from_the_server_itself(server, proxied):
    answer = requests.post(
        f"{proxied}/api/v1/completions",
        data=b" " * (32 * 2**20 + 1),
        headers={
            "Authorization": f"Bearer {server.key}", "Host": "localhost", "Content-Type": "application/json",
        },
        timeout=60,
    )  # fmt: skip
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "application/problem+json")


def test_long_polls_and_reward_endpoints_work_through_it(server, proxied):
    headers = {"Authorization": f"Bearer {server.key}", "Host": "localhost"}
    task = server.task("proxied waits")
    (completion,) = server.submit(task, 1, pause_ms=1500)
    scored = requests.get(f"{proxied}/api/v1/completions/{completion}/score?wait=30", headers=headers, timeout=60)
    assert scored.json()["status"] == "completed"
    body = {"taskId": task.id, "protocol": "openrlhf", "unscored": "hold"}
    endpoint = requests.post(f"{proxied}/api/v1/reward-endpoints", json=body, headers=headers, timeout=30).json()
    path = "/api/" + endpoint["url"].partition("/api/")[2]
    sample = {"query": ["p: 50"], "prompts": ["p: "], "labels": [None]}
    assert requests.post(proxied + path, json=sample, headers={"Host": "localhost"}, timeout=60).json()["rewards"] == [
        0.5
    ]
