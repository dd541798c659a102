"""The outbound engine against servers on loopback: what is sent, time, and many exchanges at once."""

import os
import socket
import threading
import time

import pytest

from autotune.core.outbound import engine as outbound_engine
from autotune.core.outbound.addresses import parse_allow
from autotune.core.outbound.engine import OutboundRequest
from tests.core.outbound.conftest import OK, TIMEOUT_MS, ask, failure


def drip(data, server_stopped, pause=0.05):
    def answer(connection, request):
        for place in range(len(data)):
            connection.sendall(data[place : place + 1])
            if server_stopped.wait(pause):
                break
        return "close"

    return answer


def test_request_and_response_arrive_unchanged(serve, engine):
    server = serve(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A:  two \r\nContent-Length: 5\r\n\r\nhello")
    response = engine.fetch(ask(server, headers=[("X-Autotune-Attempt", "1")], body=b'{"a":"\x00\xff"}'))
    assert (response.status, response.body) == (200, b"hello")
    assert [pair for pair in response.headers if pair[0] == "X-A"] == [("X-A", "1"), ("X-A", "two")]
    assert response.elapsed_ms > 0
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /score HTTP/1.1"
    assert body == b'{"a":"\x00\xff"}'
    assert b"Accept-Encoding: identity" in lines
    assert b"X-Autotune-Attempt: 1" in lines
    assert not any(line.lower().startswith((b"expect:", b"cookie:", b"authorization:")) for line in lines)


def test_methods_follow_each_other_on_one_handle(serve, engine):
    server = serve(OK)
    for method in ("POST", "GET", "PUT", "GET", "POST"):
        engine.fetch(ask(server, method=method, body=b"" if method == "GET" else b"abc"))
    assert [request.split()[0] for request in server.requests] == [b"POST", b"GET", b"PUT", b"GET", b"POST"]
    assert [request.endswith(b"abc") for request in server.requests] == [True, False, True, False, True]


def test_a_body_over_one_mebibyte_does_not_wait_for_a_hundred_continue(serve, engine):
    server = serve(OK)
    response = engine.fetch(ask(server, body=b"x" * (3 << 20), timeout_ms=5_000))
    assert response.elapsed_ms < 900
    assert len(server.requests[0]) > 3 << 20


def test_proxies_and_netrc_of_the_environment_are_ignored(serve, engine, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert engine.fetch(ask(serve(OK))).status == 200


def test_cookies_and_alternative_services_are_not_kept(serve, engine):
    server = serve(
        b'HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nAlt-Svc: h2=":1"\r\nStrict-Transport-Security: max-age=9\r\n'
        b"Content-Length: 0\r\n\r\n"
    )
    for _ in range(2):
        engine.fetch(ask(server))
    assert b"cookie" not in server.requests[1].lower()
    assert server.connections == 1


@pytest.mark.parametrize("header", [("X-A", "b\r\nX-Evil: 1"), ("X-A\r\nB", "c"), ("X", "\0")])
def test_a_header_cannot_break_the_framing(serve, engine, header):
    assert failure(engine, ask(serve(OK), headers=[header])).code == "invalid_request"


def test_a_silent_server_is_a_timeout(serve, engine):
    server = serve(lambda connection, request: None)
    error = failure(engine, ask(server))
    assert (error.code, error.retryable) == ("timeout", True)
    assert "400 ms" in error.message
    assert TIMEOUT_MS * 0.9 <= error.elapsed_ms < TIMEOUT_MS + 500


@pytest.mark.parametrize("part", ["status line", "headers", "body"])
def test_a_slow_trickle_does_not_extend_the_timeout(serve, engine, part):
    ahead = {
        "status line": b"",
        "headers": b"HTTP/1.1 200 OK\r\n",
        "body": OK[:-2].replace(b"2\r\n\r\n", b"99\r\n\r\n"),
    }[part]
    stopped = threading.Event()

    def answer(connection, request):
        connection.sendall(ahead)
        return drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500, stopped)(connection, request)

    started = time.monotonic()
    error = failure(engine, ask(serve(answer)))
    stopped.set()
    assert error.code == "timeout"
    assert time.monotonic() - started < 1.5


def test_a_refused_connection_may_be_tried_again(engine):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = failure(engine, OutboundRequest("GET", f"http://127.0.0.1:{port}/", timeout_ms=TIMEOUT_MS))
    assert (error.code, error.retryable) == ("connect_failed", True)


def test_a_name_that_does_not_resolve_may_be_tried_again(engine):
    error = failure(engine, OutboundRequest("GET", "https://nowhere.invalid/", timeout_ms=3_000))
    assert error.code in ("name_not_resolved", "timeout")
    assert error.retryable


def test_connections_are_reused(serve, engine):
    server = serve(OK)
    for _ in range(5):
        engine.fetch(ask(server))
    assert (server.connections, len(server.requests)) == (1, 5)


def test_a_server_may_close_after_each_response(serve, engine):
    server = serve(lambda connection, request: connection.sendall(OK) or "close")
    assert [engine.fetch(ask(server)).status for _ in range(5)] == [200] * 5
    assert server.connections == 5


def test_many_exchanges_run_at_once_and_each_keeps_its_own_answer(serve, engine):
    gate = threading.Barrier(64)

    def answer(connection, request):
        body = request.partition(b"\r\n\r\n")[2]
        gate.wait(10)  # nobody is answered before all are asked
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    server = serve(answer)
    for number in range(64):
        engine.submit(ask(server, body=str(number).encode(), timeout_ms=9_000), number)
    assert engine.in_flight == 64
    got = {}
    while engine.in_flight:
        got.update(engine.poll(1.0))
    assert {tag: int(result.body) for tag, result in got.items()} == {number: number for number in range(64)}


def test_a_slow_exchange_does_not_delay_others(serve, engine):
    slow, quick = serve(lambda connection, request: None), serve(OK)
    engine.submit(ask(slow), "slow")
    assert engine.fetch(ask(quick)).status == 200
    engine.submit(ask(quick), "quick")
    assert [tag for tag, _ in engine.poll(1.0)] == ["quick"]
    [(tag, result)] = engine.poll(2.0)
    assert (tag, result.code) == ("slow", "timeout")
    assert engine.poll(0.0) == []


def test_poll_returns_at_its_own_timeout(serve, engine):
    engine.submit(ask(serve(lambda connection, request: None), timeout_ms=5_000), 1)
    started = time.monotonic()
    assert engine.poll(0.1) == []
    assert 0.09 < time.monotonic() - started < 1.0
    assert engine.in_flight == 1


def test_a_caller_that_stops_waiting_leaves_no_handle(serve, engine):
    engine.submit(ask(serve(lambda connection, request: None), timeout_ms=5_000), "dropped")
    engine.submit(OutboundRequest("GET", ""), "refused at once")
    engine.abandon()
    assert engine.in_flight == 0
    assert engine.fetch(ask(serve(OK))).status == 200
    assert engine.poll(0.0) == []


def test_each_thread_has_its_own_engine():
    mine, others = outbound_engine.engine(), []
    thread = threading.Thread(target=lambda: others.append(outbound_engine.engine()))
    thread.start()
    thread.join()
    assert outbound_engine.engine() is mine
    assert others[0] is not mine


def test_a_forked_child_starts_afresh(serve, settings):
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow("127.0.0.1/32")
    server = serve(OK)
    outbound_engine.fetch(ask(server))
    mine = outbound_engine.engine()
    child = os.fork()
    if child == 0:
        os._exit(0 if outbound_engine.engine() is not mine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    outbound_engine.fetch(ask(server))
    assert server.connections == 1
