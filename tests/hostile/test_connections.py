"""C27: thousands of foreign connections delay nobody, with the processes as the Procfile starts them."""

import contextlib
import json
import socket
import time
from types import SimpleNamespace

import pytest
import requests

from autotune.site.local import launch
from autotune.site.local.ports import answers
from autotune.site.local.supervisor import SupervisedProcess, Supervisor
from tests.support.serving import free_port, own_environment, web_process

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
MANY = 2_000  # as many as the two processes of `web` hold together
PATIENCE_S = 30
WITHIN_S = 3  # one second on a machine that does nothing else; this one may do other work
HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST_HEALTH = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
HALF_A_HEAD = b"GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
LARGE = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n{"


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """The port of a web process, and a key."""
    with web_process(tmp_path_factory.mktemp("web")) as (port, key):
        yield SimpleNamespace(port=port, key=key)


@pytest.fixture(scope="module")
def few_files(tmp_path_factory):
    """{"web": port, "live": port} of two processes that may each open 600 descriptors."""
    data = tmp_path_factory.mktemp("few")
    with own_environment(data) as base, Supervisor(data / "logs") as tree:
        env = launch.environment(base, port=free_port(), data=data, grader_ports=[], live_port=free_port())
        launch.bootstrap(env, "Tests", "admin@example.org")
        ports = {"web": int(env["PORT"]), "live": int(env["LIVE_PORT"])}
        for process in launch.server_processes(env):
            if process.name in ports:
                line = f"ulimit -n 600; {process.command[2]}"
                tree.start(SupervisedProcess(process.name, ("/bin/sh", "-c", line), process.env, process.cwd))
        for name, port in ports.items():  # both before anybody calls: a caller's own port may be one of these
            tree.wait_for(lambda port=port: answers(port, launch.HEALTH_PATH), f"the start of {name}", 60)
        yield ports


@contextlib.contextmanager
def strangers(port, content, count=MANY, source="127.0.0.1"):
    """`count` connections that send the bytes and stay open."""
    with contextlib.ExitStack() as held:
        connections = []
        for _ in range(count):
            connection = held.enter_context(
                socket.create_connection(("127.0.0.1", port), PATIENCE_S, source_address=(source, 0))
            )
            with contextlib.suppress(ConnectionError):
                connection.sendall(content)
                if content.startswith((HEALTH, LAST_HEALTH)):
                    connection.recv(65_536)  # or the server might still be busy with them
            connections.append(connection)
        yield connections


def served_at_once(port, times=5):
    """How long the slowest of some requests took, each on a new connection."""
    slowest = 0.0
    for _ in range(times):
        started_at = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            connection.settimeout(PATIENCE_S)
            connection.sendall(HEALTH)
            assert b" 200 " in connection.recv(65_536).partition(b"\r\n")[0]
        slowest = max(slowest, time.monotonic() - started_at)
    return slowest


@pytest.mark.parametrize(
    "content",
    [HEALTH, HALF_A_HEAD, b"", LARGE, HEALTH + HALF_A_HEAD, LAST_HEALTH],
    ids=["idle", "half a head", "nothing", "slow small body", "pipelined half", "closed only by the server"],
)
def test_c27_two_thousand_connections_of_a_stranger_delay_nobody(web, content):
    with strangers(web.port, content):
        assert served_at_once(web.port) < WITHIN_S
    assert served_at_once(web.port) < WITHIN_S


def test_c27_bodies_that_stop_halfway_take_a_part_of_the_threads_only(web):
    with strangers(web.port, LARGE + b" " * 300_000, count=160):
        assert served_at_once(web.port) < WITHIN_S


def test_c27_clients_that_do_not_read_their_answers_do_not_keep_the_threads(web):
    """A large answer to a client with a small buffer, from more connections than there are threads."""
    with contextlib.ExitStack() as held:
        for _ in range(160):
            connection = held.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", web.port))
            connection.sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        time_limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < time_limit:
            started_at = time.monotonic()
            if served_at_once(web.port, times=1) < WITHIN_S and time.monotonic() - started_at < WITHIN_S:
                return
        pytest.fail("not served within a second again")


def test_c27_requests_in_flight_and_kept_connections_of_others_are_not_cut(web):
    """While strangers open more than the server holds: a body that arrives slowly, a session that is kept, new ones."""
    headers = {"Authorization": f"Bearer {web.key}"}
    body = json.dumps({"url": "https://hooks.example.org/c27", "events": ["score.completed"]}).encode()
    head = (
        f"POST /api/v1/webhooks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {web.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    address = f"http://127.0.0.1:{web.port}/api/v1/graders"
    with requests.Session() as session, socket.socket() as slow, strangers(web.port, HALF_A_HEAD, source="127.0.0.3"):
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=0))
        assert session.get(address, headers=headers, timeout=PATIENCE_S).status_code == 200
        slow.bind(("127.0.0.2", 0))
        slow.settimeout(PATIENCE_S)
        slow.connect(("127.0.0.1", web.port))
        slow.sendall(head.encode() + body[:10])
        with strangers(web.port, HALF_A_HEAD, 500, "127.0.0.4"):
            assert session.get(address, headers=headers, timeout=PATIENCE_S).status_code == 200
            slow.sendall(body[10:])
            assert slow.recv(65_536).split(b" ", 2)[1] == b"201"


def test_c27_a_client_that_has_started_a_request_reads_why_its_connection_was_closed(web):
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_S) as late:
        late.settimeout(PATIENCE_S)
        late.sendall(HALF_A_HEAD)
        answer = b"".join(iter(lambda: late.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ", 2)[1] == b"408"
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "request_timeout"


@pytest.mark.parametrize(
    "content", [HEALTH, HALF_A_HEAD, b"", HEALTH + HALF_A_HEAD], ids=["idle", "half", "none", "next"]
)
@pytest.mark.parametrize("name", ["web", "live"])
def test_c27_a_process_with_few_descriptors_closes_quiet_connections_and_serves_on(few_files, name, content):
    port = few_files[name]
    with strangers(port, content, count=800):
        assert served_at_once(port) < WITHIN_S
    assert served_at_once(port) < WITHIN_S


def test_c27_half_a_head_is_refused_by_live_too(few_files):
    port = few_files["live"]
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as late:
        late.settimeout(PATIENCE_S)
        late.sendall(HALF_A_HEAD)
        answer = b"".join(iter(lambda: late.recv(65_536), b""))
    assert answer.split(b" ", 2)[1] == b"408"
    assert b"request_timeout" in answer
