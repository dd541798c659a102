"""Rows A27 and H of the list on the wire: what the web process as the Procfile starts it does with slow and odd clients."""

import contextlib
import json
import re
import socket
import time
from types import SimpleNamespace

import pytest

from tests.support.serving import web_process

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PATIENCE_S = 30
SLOW_CLIENTS = 500
HARMLESS = {"GET", "HEAD", "OPTIONS"}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """The port of a web process, and a key."""
    with web_process(tmp_path_factory.mktemp("web")) as (port, key):
        yield SimpleNamespace(port=port, key=key)


def ask(web, method, path, *lines, body=b"", read=True):
    """(status, the whole answer) of one request on a connection of its own."""
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Authorization: Bearer {web.key}",
        *lines,
    ]
    if body:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_S) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        if not read:
            return None
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    return int(answer.split(b" ", 2)[1]), answer.decode("latin-1")


def test_a27_a_client_that_leaves_at_once_and_repeats_with_its_key_has_one_row(web):
    body = json.dumps({"url": "https://hooks.example.org/a27", "events": ["score.completed"]}).encode()
    for _ in range(3):
        ask(web, "POST", "/api/v1/webhooks", "Idempotency-Key: a27", body=body, read=False)
    end = time.monotonic() + PATIENCE_S
    while (status := ask(web, "POST", "/api/v1/webhooks", "Idempotency-Key: a27", body=body)[0]) == 409:
        assert time.monotonic() < end
    assert status == 201
    assert ask(web, "GET", "/api/v1/webhooks")[1].count("hooks.example.org/a27") == 1


def test_h03_no_link_is_built_from_the_request(web):
    for lines in (
        ("X-Forwarded-Host: evil.example",),
        ("X-Forwarded-Proto: https", "Forwarded: host=evil.example"),
        ("X-Host: evil.example",),
    ):
        status, answer = ask(web, "GET", "/", *lines)
        assert (status, "evil.example" in answer) == (200, False)
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_S) as connection:
        connection.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert connection.recv(65_536).split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize(
    ("path", "lines", "status", "code"),
    [
        ("/api/v1/tasks?search=" + "x" * 9_000, (), 414, "address_too_long"),
        ("/api/v1/tasks", ("X-Long: " + "x" * 9_000,), 431, "headers_too_large"),
        ("/api/v1/tasks", tuple(f"X-{number}: 1" for number in range(200)), 431, "headers_too_large"),
    ],
    ids=["address", "header", "many headers"],
)
def test_requests_too_long_for_the_server_get_a_problem_response(web, path, lines, status, code):
    answered, answer = ask(web, "GET", path, *lines)
    head, _, body = answer.partition("\r\n\r\n")
    assert (answered, json.loads(body)["code"]) == (status, code)
    assert "Content-Type: application/problem+json" in head


def test_an_address_of_eight_thousand_bytes_is_read(web):
    status, answer = ask(web, "GET", "/api/v1/tasks?search=" + "%F0%9F%A6%89" * 600)
    assert (status, '"?search"' in answer) == (400, True), answer


@pytest.mark.parametrize(
    "path",
    ["/", "/api/v1/health", "/api/v1/tasks", "/api/v1/nowhere", "/admin/login/", "/static/css/site.css", "/\x01"],
)
@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "OPTIONS", "HEAD", "PURGE", "get", "G3T"])
def test_h04_every_method_on_every_kind_of_address_has_a_valid_response(web, method, path):
    status, answer = ask(web, method, path, "X-Marker: echo-7731")
    assert status < 500, answer
    assert "echo-7731" not in answer
    assert method in HARMLESS or status in (302, 400, 403, 404, 405), answer


@pytest.mark.parametrize("path", ["/api/v1/nowhere", "/api/v1/tasks/x", "/nowhere"])
def test_h08_a_404_has_a_request_id_and_reveals_nothing_of_the_server(web, path):
    status, answer = ask(web, "GET", path)
    assert status == 404
    assert re.search(r"X-Request-Id: \S+", answer, re.IGNORECASE)
    assert not re.search(r"Traceback|django|settings|urlconf|gunicorn/|Python", answer, re.IGNORECASE)


def test_h07_hundreds_of_slow_senders_do_not_block_others(web):
    with contextlib.ExitStack() as held:
        slow = []
        for number in range(SLOW_CLIENTS):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", web.port), PATIENCE_S))
            head = (
                b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
                if number % 2
                else b"GET / HTTP/1.1\r\nX-Slow: "
            )
            connection.sendall(head)
            slow.append(connection)
        for _ in range(5):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.send(b"x")
            began = time.monotonic()
            assert ask(web, "GET", "/api/v1/health")[0] == 200
            assert time.monotonic() - began < 10
            time.sleep(0.2)
