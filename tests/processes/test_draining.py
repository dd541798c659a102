"""A process that stops under load: it answers requests under way, and refuses or serves new ones at once."""

import http.client
import json
import os
import signal
import socket
import threading
import time

import pytest

from autotune.site.local import launch
from autotune.site.local.ports import LOOPBACK, answers
from autotune.site.local.supervisor import Supervisor
from tests.support.serving import free_port, own_environment

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PATIENCE_S = 40
AT_ONCE_S = 10.0  # on a busy machine; a connection that hangs does so for 30 s
CLIENTS = 8
SERVED = (201, 409)  # 409 once the organization has its hundred webhooks
SERVED_LINES = tuple(f"HTTP/1.1 {status}" for status in SERVED)
BODY = json.dumps({"url": "https://hooks.example.org/x", "events": ["score.completed"]}).encode()


class Web:
    def __init__(self, tree, port, key=""):
        self.tree, self.port, self.key = tree, port, key

    def connect(self):
        return http.client.HTTPConnection(LOOPBACK, self.port, timeout=PATIENCE_S)

    def post(self, connection):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/webhooks", BODY, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Connection", "")

    def terminate(self):
        (pid,) = self.tree.pids.values()
        os.kill(pid, signal.SIGTERM)

    def refuses(self):
        try:
            socket.create_connection((LOOPBACK, self.port), 2).close()
        except ConnectionRefusedError:
            return True
        return False

    def has_ended(self):
        return self.tree._children[0].popen.poll() is not None


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """(environment at a port, key) that the processes of this file share, one after another."""
    data = tmp_path_factory.mktemp("data")
    with own_environment(data) as base:

        def environment_at(port):
            return launch.environment(base, port=port, data=data, grader_ports=[])

        yield environment_at, launch.bootstrap(environment_at(free_port()), "Tests", "admin@example.org")["apiKey"]


@pytest.fixture
def web(installation, tmp_path):
    environment, key = installation
    env = environment(free_port())
    with Supervisor(tmp_path / "logs") as tree:
        tree.start(next(process for process in launch.server_processes(env) if process.name == "web"))
        tree.wait_for(lambda: answers(int(env["PORT"]), launch.READY_PATH), "the start of the web process", 60)
        yield Web(tree, int(env["PORT"]), key)


@pytest.fixture(params=[1, 2])
def live(installation, tmp_path, request):
    """Only the process `live`, with 1 or 2 workers."""
    environment, _ = installation
    env = environment(free_port()) | {"LIVE_PORT": str(free_port()), "LIVE_WORKERS": str(request.param)}
    with Supervisor(tmp_path / "logs") as tree:
        tree.start(next(process for process in launch.server_processes(env) if process.name == "live"))
        port = int(env["LIVE_PORT"])
        tree.wait_for(lambda: answers(port, launch.HEALTH_PATH), "the start of live", 60)
        yield Web(tree, port)


def slow_post(web, path="/api/v1/webhooks"):
    """A POST with an incomplete body: (socket, the missing bytes)."""
    head = [
        f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {web.key}",
        "Content-Type: application/json", f"Content-Length: {len(BODY)}",
    ]  # fmt: skip
    client = socket.create_connection((LOOPBACK, web.port), PATIENCE_S)
    client.sendall("\r\n".join([*head, "", ""]).encode() + BODY[:-5])
    return client, BODY[-5:]


def answer_of(client):
    return b"".join(iter(lambda: client.recv(65_536), b"")).decode("latin-1")


def test_c43_new_connections_are_refused_or_served_at_once_while_the_process_drains(web):
    """One request under way keeps the process alive for a while; until then clients keep connecting."""
    under_way, rest = slow_post(web)
    tries, ending = [], threading.Event()

    def keep_connecting():
        while not ending.is_set():
            started_at = time.monotonic()
            connection = web.connect()
            try:
                outcome = web.post(connection)[0]
            except ConnectionRefusedError:
                outcome = "refused"
            except (ConnectionError, http.client.RemoteDisconnected) as exc:
                outcome = type(exc).__name__
            finally:
                connection.close()
            tries.append((started_at, outcome, time.monotonic() - started_at))
            ending.wait(0.02)

    clients = [threading.Thread(target=keep_connecting, daemon=True) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(1.0)
    web.terminate()
    time.sleep(4.0)
    assert not web.has_ended(), "a request is under way"
    under_way.sendall(rest)
    assert answer_of(under_way).startswith(SERVED_LINES)
    ending.set()
    for client in clients:
        client.join(PATIENCE_S)
    outcomes = {outcome for _, outcome, _ in tries}
    assert "refused" in outcomes
    assert outcomes <= {*SERVED, "refused", "ConnectionResetError"}, outcomes
    assert sum(outcome == "ConnectionResetError" for _, outcome, _ in tries) <= 4, "only in the moment of closing"
    assert max(seconds for *_, seconds in tries) < AT_ONCE_S, "none hangs"


def test_c43_a_kept_connection_serves_one_more_request_and_closes(web):
    connection = web.connect()
    assert web.post(connection)[0] in SERVED
    under_way, rest = slow_post(web)
    web.terminate()
    time.sleep(0.5)
    status, connection_header = web.post(connection)
    assert (status in SERVED, connection_header.lower()) == (True, "close")
    under_way.sendall(rest)
    assert "connection: close" in answer_of(under_way).lower()


def test_c43_an_open_connection_that_was_not_used_yet_is_served(web):
    under_way, rest = slow_post(web)
    early = web.connect()
    early.connect()
    web.terminate()
    time.sleep(0.5)
    assert web.post(early)[0] in SERVED
    under_way.sendall(rest)
    assert answer_of(under_way).startswith(SERVED_LINES)


def test_c43_a_process_without_requests_ends_soon(web):
    started_at = time.monotonic()
    web.terminate()
    while not web.has_ended():
        assert time.monotonic() - started_at < 10
        time.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, web.port), 2)


def test_c43_live_refuses_new_connections_while_it_drains_and_answers_requests_under_way(live):
    under_way, rest = slow_post(live, "/api/v1/rewards/openrlhf/unknown")
    idle = live.connect()
    idle.request("GET", "/api/v1/health")
    assert idle.getresponse().read()
    live.terminate()
    started_at = time.monotonic()
    while not live.refuses():
        assert time.monotonic() - started_at < AT_ONCE_S
        time.sleep(0.05)
    assert not live.has_ended(), "a call is under way"
    under_way.sendall(rest)
    answer = answer_of(under_way)
    assert answer.startswith("HTTP/1.1 4")
    assert "application/problem+json" in answer
