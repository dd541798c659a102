"""What the web process as the Procfile starts it does with hostile requests on the wire."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.serving import web_process

pytestmark = [pytest.mark.processes, pytest.mark.timeout(90)]
PATIENCE_S = 15
MIB = 2**20
KEPT_AT_MOST_MIB = 40  # what each worker may keep after bodies of 30 MB


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a web process, and a key."""
    with web_process(tmp_path_factory.mktemp("web")) as (port, key):
        yield f"http://127.0.0.1:{port}", key


@pytest.fixture
def address(served):
    return served[0]


@pytest.fixture
def wire(address):
    """`wire(head, body)`: (status line, whole answer) of one raw request; the server has closed the connection."""

    def send(*lines, body=b""):
        host = urlsplit(address)
        with socket.create_connection((host.hostname, host.port), PATIENCE_S) as connection:
            head = "\r\n".join([*lines, "Host: localhost", "Connection: close", "", ""])
            connection.sendall(head.encode("latin-1") + body)
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        return answer.partition(b"\r\n")[0].split(b" ", 2)[1].decode(), answer.decode("latin-1")

    return send


JSON = "Content-Type: application/json"


def test_a_declared_gigabyte_is_413_and_little_of_the_body_is_read(address):
    host = urlsplit(address)
    with socket.create_connection((host.hostname, host.port), PATIENCE_S) as connection:
        head = f"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 1000000000\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(65_536).partition(b"\r\n")[0]  # before any of the body was sent
        assert taken_before_the_end(connection) < 32 * MIB


def taken_before_the_end(connection):
    """How many bytes the server reads before it closes the connection."""
    sent = 0
    with suppress(ConnectionError):
        while sent < 64 * MIB:
            sent += connection.send(b"x" * 65_536)
    return sent


def test_a_chunked_body_is_411(wire):
    status, answer = wire(
        "POST /api/v1/tasks HTTP/1.1", JSON, "Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"
    )
    assert status == "411"
    assert "length_required" in answer


def test_a_body_with_both_lengths_is_refused(wire):
    lines = ("Transfer-Encoding: chunked", "Content-Length: 2")
    assert wire("POST /api/v1/tasks HTTP/1.1", JSON, *lines, body=b"2\r\n{}\r\n0\r\n\r\n")[0] == "400"


@pytest.mark.parametrize(
    ("request_octets", "status", "code"),
    [
        (b"HELLO\r\n\r\n", 400, "invalid_request"),
        (b"G@T / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "invalid_request"),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 505, "http_version_not_supported"),
        (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400, "invalid_request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: 1\r\n\r\n", 400, "invalid_request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 400, "invalid_request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gopher\r\n\r\n", 501, "not_implemented"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n", 417, "expectation_failed"),
        (b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"x" * 9_000), 414, "address_too_long"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: %b\r\n\r\n" % (b"y" * 9_000), 431, "headers_too_large"),
    ],
    ids=range(10),
)  # fmt: skip
def test_c37_what_the_server_itself_refuses_is_a_problem_that_echoes_nothing(address, request_octets, status, code):
    host = urlsplit(address)
    with socket.create_connection((host.hostname, host.port), PATIENCE_S) as connection:
        connection.sendall(request_octets)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    problem = json.loads(body)
    assert (int(head.split(b" ", 2)[1]), problem["status"], problem["code"]) == (status, status, code)
    assert b"Content-Type: application/problem+json" in head
    assert not any(word in body for word in (b"gopher", b"miracles", b"HELLO", b"G@T", b"yyy"))


def test_two_authorization_headers_are_401(wire):
    status, answer = wire("GET /api/v1/tasks HTTP/1.1", "Authorization: Bearer a", "Authorization: Bearer b")
    assert status == "401"
    assert "problem+json" in answer


def test_the_caller_cannot_name_its_own_address_or_scheme(wire):
    status, answer = wire(
        "GET / HTTP/1.1", "X-Forwarded-Proto: https", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil.example"
    )
    assert status == "200"
    assert "evil.example" not in answer


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND"])
def test_another_method_is_405_and_echoes_nothing(wire, method):
    status, answer = wire(f"{method} /api/v1/health HTTP/1.1", "X-Secret: hunter2")
    assert status == "405"
    assert "hunter2" not in answer


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"metadata":' * 200_000, b"9" * 2**20, b'{"name":"' + b"x" * 2**25])
def test_a_body_that_would_break_a_parser_is_400_and_leaves_the_workers_alive(wire, served, body):
    for _ in range(3):
        lines = (f"Content-Length: {len(body[: 2**25])}", f"Authorization: Bearer {served[1]}", JSON)
        assert wire("POST /api/v1/tasks HTTP/1.1", *lines, body=body[: 2**25])[0] == "400"
    assert wire("GET /api/v1/health HTTP/1.1")[0] == "200"


def test_responses_reveal_no_server_version(wire):
    _, answer = wire("GET /api/v1/health HTTP/1.1")
    server = next(line for line in answer.split("\r\n") if line.lower().startswith("server:"))
    assert not any(char.isdigit() for char in server)


def resident_mib(port):
    """Resident memory of the web process and its workers, summed over those that listen at the port."""
    total = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if f"PORT={port}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    lines = (folder / "status").read_text().splitlines()
                    total += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024
    return total


def test_c37_memory_of_large_bodies_is_released(wire, served):
    port = urlsplit(served[0]).port
    text = b'{"name":"' + b"x" * 30_000_000 + b'"}'
    lists = b'{"name":[' + b",".join([b'"item"'] * 1_000_000) + b"]}"

    def send(body):
        lines = (f"Content-Length: {len(body)}", f"Authorization: Bearer {served[1]}", JSON)
        assert wire("POST /api/v1/tasks HTTP/1.1", *lines, body=body)[0] == "400"

    for _ in range(4):
        send(b'{"name":1}')
    before = resident_mib(port)
    for _ in range(6):
        send(text)
        send(lists)
    for _ in range(4):
        send(b'{"name":1}')
    assert resident_mib(port) - before < 2 * KEPT_AT_MOST_MIB
