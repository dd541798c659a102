"""The two ways to serve a grader: threads of the standard library, and ASGI."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from autotune_sdk.grader import Grader, protocol
from autotune_sdk.grader.server import GraderServer

SECRET = "atgs_" + "s" * 43
NUMBER = iter(range(10**9))


def signed(data: dict[str, Any], secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    body = json.dumps({"requestId": f"r-{next(NUMBER)}", **data}).encode()
    return body, protocol.sign_request(secret, body, json.loads(body)["requestId"])


def batch(count: int) -> dict[str, Any]:
    return {"completions": [{"id": f"comp_{n}", "response": str(n)} for n in range(count)]}


@pytest.fixture
def grader() -> Grader:
    kit_grader = Grader("g", "1", secret=SECRET, max_batch_size=1000)
    kit_grader.score(lambda c: len(c.response) / 10)
    return kit_grader


@pytest.fixture
def server(grader: Grader) -> Iterator[GraderServer]:
    grader_server = GraderServer(grader, port=0)
    thread = threading.Thread(target=grader_server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield grader_server
    grader_server.shutdown()
    grader_server.server_close()


def connect(server: GraderServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)


def test_one_connection_carries_many_calls(server: GraderServer) -> None:
    connection = connect(server)
    connection.connect()
    local = connection.sock.getsockname()
    for count in (1, 200, 1000):
        body, headers = signed(batch(count))
        connection.request("POST", "/score/batch", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200
        assert len(json.loads(content)["scores"]) == count
        rid, when = headers["X-Autotune-Request-Id"], answer.headers[protocol.RESPONSE_TIMESTAMP]
        assert answer.headers[protocol.RESPONSE_SIGNATURE] == protocol.sign(SECRET, when, rid, content)
    connection.request("GET", "/health", headers=protocol.sign_request(SECRET))
    assert json.loads(connection.getresponse().read())["version"] == "1"
    assert connection.sock.getsockname() == local


def test_calls_run_concurrently(grader: Grader, server: GraderServer) -> None:
    barrier = threading.Barrier(8, timeout=5)
    grader.score(lambda c: barrier.wait() * 0)

    def call(_: int) -> int:
        connection = connect(server)
        body, headers = signed({"completion": {"id": "c", "response": "r"}})
        connection.request("POST", "/score", body, headers)
        return connection.getresponse().status

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(8))) == [200] * 8


def test_a_body_over_32_mib_is_413_and_the_connection_lives(server: GraderServer) -> None:
    connection = connect(server)
    connection.request("POST", "/score", b"x" * (2**25 + 1), protocol.sign_request(SECRET, b"", "big"))
    answer = connection.getresponse()
    assert answer.status == 413
    assert protocol.RESPONSE_SIGNATURE in answer.headers
    answer.read()
    connection.request("GET", "/health", headers=protocol.sign_request(SECRET))
    assert connection.getresponse().status == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("POST /score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
        ("POST /score HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"411"),
        ("POST /score HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", b"411"),
        ("DELETE /score HTTP/1.1\r\n\r\n", b"401"),
        ("GET /health HTTP/1.0\r\n\r\n", b"401"),
        ("nonsense\r\n\r\n", b"400"),
        ("POST /score HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
    ],
)
def test_unusual_requests_are_answered(server: GraderServer, lines: str, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as connection:
        connection.sendall(lines.encode())
        assert status in connection.recv(4096).split(b"\r\n")[0]


def test_a_repeated_header_is_refused_and_spaces_around_a_value_are_not(server: GraderServer) -> None:
    connection = connect(server)
    connection.putrequest("GET", "/health")
    for name, value in [*protocol.sign_request(SECRET).items(), ("X-Autotune-Request-Id", "again")]:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]) == (401, "malformed_header")
    headers = {name: value + "  " for name, value in protocol.sign_request(SECRET).items()}
    connection.request("GET", "/health", headers=headers)
    assert connection.getresponse().status == 200


class Asgi:
    """Calls an ASGI application as a server does."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def call(self, method: str, path: str, headers: dict[str, str], pieces: list[bytes]) -> tuple[int, dict, bytes]:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        }
        incoming = [{"type": "http.request", "body": p, "more_body": n + 1 < len(pieces)} for n, p in enumerate(pieces)]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop(0) if incoming else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, sent[1]["body"]


def test_asgi_returns_the_same_signed_responses(grader: Grader) -> None:
    app = Asgi(grader.asgi)
    body, headers = signed(batch(3))
    status, answer_headers, answer = app.call("POST", "/score/batch", headers, [body[:10], body[10:]])
    assert status == 200
    assert len(json.loads(answer)["scores"]) == 3
    rid, when = headers["X-Autotune-Request-Id"], answer_headers["x-autotune-response-timestamp"]
    assert answer_headers["x-autotune-response-signature"] == protocol.sign(SECRET, when, rid, answer)
    assert app.call("POST", "/score", headers, [b"x" * 2**20] * 33)[0] == 413
    assert app.call("GET", "/health", {}, [b""])[0] == 401


def test_asgi_scoring_does_not_hold_the_loop(grader: Grader) -> None:
    barrier = threading.Barrier(4, timeout=5)
    grader.score(lambda c: barrier.wait() * 0)

    async def one_request() -> int:
        body, headers = signed({"completion": {"id": "c", "response": "r"}})
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/score",
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await grader.asgi(scope, receive, send)
        return sent[0]["status"]

    async def four() -> list[int]:
        return await asyncio.gather(*(one_request() for _ in range(4)))

    assert asyncio.run(four()) == [200] * 4


def test_asgi_lifespan(grader: Grader) -> None:
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    asyncio.run(grader.asgi({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_real_asgi_server_serves_it(grader: Grader) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    server = uvicorn.Server(uvicorn.Config(grader.asgi, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + 10
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        body, headers = signed(batch(2))
        connection.request("POST", "/score/batch", body, headers)
        answer = connection.getresponse()
        assert len(json.loads(answer.read())["scores"]) == 2
        assert protocol.RESPONSE_SIGNATURE in answer.headers
    finally:
        server.should_exit = True
        thread.join(5)


MODULE = """
from autotune_sdk.grader import Grader
grader = Grader("length", "7")

@grader.score
def score(completion, options):
    return len(completion.response) / 10
"""


@pytest.mark.parametrize("command", [["-m", "autotune_sdk.grader"], ["-m", "autotune_sdk.cli", "grader", "serve"]])
def test_the_command_serves_reads_a_late_secret_and_ends_on_term(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    source = Path(__file__).parents[2] / "sdk/python/src"
    process = subprocess.Popen(
        [sys.executable, *command, "mine:grader", "--port", "0", "--secret-file", "secret", "--log", "items"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source), "AUTOTUNE_GRADER_SECRET": ""},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("length 7 on http://127.0.0.1:"), line
        connection = http.client.HTTPConnection("127.0.0.1", int(line.rsplit(":", 1)[1]), timeout=5)
        connection.request("GET", "/health", headers=protocol.sign_request(SECRET))
        answer = connection.getresponse()
        assert (answer.status, answer.headers[protocol.RESPONSE_SIGNATURE]) == (401, None)
        answer.read()
        (tmp_path / "secret").write_text(SECRET)
        body, headers = signed({"completion": {"id": "comp_1", "response": "four"}})
        connection.request("POST", "/score", body, headers)
        assert json.loads(connection.getresponse().read())["score"]["value"] == 0.4
        assert json.loads((tmp_path / "items").read_text())["completionId"] == "comp_1"
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.stderr.close()


def test_a_missing_grader_is_named(tmp_path: Path) -> None:
    from autotune_sdk.grader.__main__ import load

    (tmp_path / "a.py").write_text(MODULE)
    assert load(f"{tmp_path}/a.py:grader").version == "7"
    for wrong in (f"{tmp_path}/a.py:score", f"{tmp_path}/b.py:grader", "no_such_module_here:grader"):
        with pytest.raises(SystemExit):
            load(wrong)


def test_it_is_fast_enough_for_a_demo(server: GraderServer) -> None:
    connection = connect(server)
    calls = [signed({"completion": {"id": "c", "response": "r"}}) for _ in range(300)]
    began = time.perf_counter()
    for body, headers in calls:
        connection.request("POST", "/score", body, headers)
        connection.getresponse().read()
    assert time.perf_counter() - began < 3  # 10 ms each; without TCP_NODELAY a call takes 40
