"""The process `live` as the Procfile starts it: many trainers' calls at once, a death in the middle, and its logs."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import requests

from autotune.site.local import launch
from autotune.site.local.ports import answers
from autotune.site.local.supervisor import SupervisedProcess
from tests.support.concurrency import until
from tests.support.serving import free_port

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PATIENCE_S = 60


@pytest.fixture
def endpoint(server):
    """`endpoint(name, **members)`: the address of a new one of OpenRLHF's, for a new task."""
    for name in ("web", "worker", "live"):  # a test before this one may have killed them
        server.ensure(name, name)
    until(lambda: answers(int(server.env["LIVE_PORT"]), launch.HEALTH_PATH), seconds=PATIENCE_S)

    def make(name, **members):
        body = {"taskId": server.task(name).id, "protocol": "openrlhf", "unscored": "hold", **members}
        headers = {"Authorization": f"Bearer {server.key}"}
        response = requests.post(
            f"{server.client.base_url}/api/v1/reward-endpoints", json=body, headers=headers, timeout=30
        )
        assert response.status_code == 201, response.text
        return response.json()["url"].replace("localhost", "127.0.0.1")

    return make


def ask(url, response, *, timeout=PATIENCE_S, label=None):
    prompt = f"{url[-5:]}: "
    body = {"query": [prompt + response], "prompts": [prompt], "labels": [label]}
    return requests.post(url, json=body, timeout=timeout)


def graded(server):
    """The completions that the grader judged, in order."""
    lines = server.grader_log.read_text().splitlines() if server.grader_log.exists() else []
    return [json.loads(line)["completionId"] for line in lines]


def stored(server, model_id):
    """How many completions of this model there are."""
    headers = {"Authorization": f"Bearer {server.key}"}
    path = f"/api/v1/completions?modelId={model_id}"
    return requests.get(server.client.base_url + path, headers=headers, timeout=30).json()["pagination"]["total"]


def test_concurrent_calls_get_their_scores(server, endpoint):
    url = endpoint("live at once")
    before = len(graded(server))
    assert url.startswith(f"http://127.0.0.1:{server.env['LIVE_PORT']}/api/v1/rewards/openrlhf/")
    with ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(lambda n: ask(url, str(n % 100)), range(120)))  # 20 of them are asked twice
    assert {answer.status_code for answer in answers} == {200}, server.log("live")
    assert [answer.json()["rewards"] for answer in answers] == [[n % 100 / 100] for n in range(120)]
    logged = graded(server)[before:]
    assert len(logged) == len(set(logged)) == 100


def test_web_serves_the_same_address(server, endpoint):
    url = endpoint("live by web")
    by_web = url.replace(server.env["LIVE_PORT"], server.env["PORT"])
    assert ask(by_web, "70").json()["rewards"] == ask(url, "70").json()["rewards"] == [0.7]


def test_an_unjudged_sample_gets_the_policy(server, endpoint):
    url = endpoint("live unjudged", unscored="neutral", neutralValue=0.5)
    answer = ask(url, "no digits at all")
    assert (answer.status_code, answer.json()["rewards"]) == (200, [0.5])
    assert answer.json()["extra_logs"] == {"autotune_unscored": [1.0]}
    refused = ask(endpoint("live unjudged, reported", unscored="error"), "no digits at all")
    assert (refused.status_code, refused.headers["Content-Type"]) == (502, "application/problem+json")


def test_a_killed_process_loses_a_connection_and_no_work(server, endpoint):
    url = endpoint("live killed", modelId="killed-live")
    outcomes = []

    def trainer():
        try:
            outcomes.append(ask(url, "33").status_code)
        except requests.ConnectionError:
            outcomes.append("lost")

    server.end_all("worker")  # the call waits
    thread = threading.Thread(target=trainer)
    thread.start()
    until(lambda: stored(server, "killed-live"), seconds=PATIENCE_S)
    server.kill("live")
    thread.join(PATIENCE_S)
    assert outcomes == ["lost"]
    server.start("worker", "worker")
    server.start("live", "live-again")
    until(lambda: answers(int(server.env["LIVE_PORT"]), launch.HEALTH_PATH), seconds=PATIENCE_S)
    again = ask(url, "33")
    assert (again.status_code, again.json()["rewards"]) == (200, [0.33])
    assert stored(server, "killed-live") == 1


def test_a_chunked_body_is_refused_with_or_without_a_content_length(server, endpoint):
    address = urlsplit(endpoint("live chunked"))
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE_S) as caller:
        caller.sendall(head.encode())
        status = caller.makefile("rb").readline()
    assert status.split()[1] in (b"400", b"411")  # the server itself may refuse the pair


def test_no_log_holds_a_token_or_a_text(server, endpoint):
    url = endpoint("live logged", unscored="neutral", neutralValue=0.5)
    port, token = free_port(), url.rpartition("/")[2]
    live = next(process for process in launch.server_processes(server.env) if process.name == "live")
    command = (*live.command[:-1], f"{live.command[-1]} --access-log --log-level trace")
    env = {**live.env, "LIVE_PORT": str(port), "LOG_LEVEL": "DEBUG"}
    server.tree.start(SupervisedProcess("live-logged", command, env=env, cwd=live.cwd))
    until(lambda: answers(port, launch.HEALTH_PATH), seconds=PATIENCE_S)
    by_this = url.replace(server.env["LIVE_PORT"], str(port))
    assert ask(by_this, "MARKofaresponse").status_code == 200
    assert requests.post(by_this, data=b"MARKofabody", timeout=30).status_code == 415
    assert ask(f"{by_this[: -len(token)]}guess-of-a-token", "1").status_code == 404
    log_text = until(lambda: "404" in (text := server.tree.log_of("live-logged").read_text()) and text)
    assert "/api/v1/rewards/openrlhf/[token]" in log_text
    assert "samples had no score" in log_text
    for secret in (token, "guess-of-a-token", "MARKof"):
        assert secret not in log_text
        assert secret not in server.tree.log_of("web").read_text()
