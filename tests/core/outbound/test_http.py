"""The outbound engine against servers that misbehave, on loopback and with short time-outs."""

import base64
import contextlib
import os
import socket
import ssl
import struct
import threading
import time

import pytest

from autotune.core.outbound import engine as outbound_engine
from autotune.core.outbound.addresses import parse_allow
from autotune.core.outbound.engine import Engine, OutboundError, OutboundRequest
from tests.support.tlsserver import Certificate, Server

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
TIMEOUT_MS = 400


@pytest.fixture
def serve():
    servers = []

    def start(answer, **options):
        if isinstance(answer, bytes):
            raw = answer
            answer = lambda connection, request: connection.sendall(raw)  # noqa: E731
        server = Server(answer, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def engine():
    outbound_engine = Engine(allow=parse_allow("127.0.0.1/32"))
    yield outbound_engine
    outbound_engine.close()


def ask(server, **changes):
    options = {"method": "POST", "body": b"{}", "timeout_ms": TIMEOUT_MS} | changes
    path = options.pop("path", "/score")
    return OutboundRequest(url=f"http://127.0.0.1:{server.port}{path}", **options)


def failure(engine, request):
    with pytest.raises(OutboundError) as caught:
        engine.fetch(request)
    return caught.value


def drip(data, server_stopped, pause=0.05):
    def answer(connection, request):
        for place in range(len(data)):
            connection.sendall(data[place : place + 1])
            if server_stopped.wait(pause):
                break
        return "close"

    return answer


# --- what is sent ----------------------------------------------------------------------------------------------------


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


# --- time ------------------------------------------------------------------------------------------------------------


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


# --- answers that are refused ----------------------------------------------------------------------------------------


def endless(first, piece):
    def answer(connection, request):
        connection.sendall(first)
        while True:
            connection.sendall(piece)

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", "body_too_large"),
        (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), "body_too_large"),
        (endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"), "body_too_large"),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), "headers_too_large"),
        (endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 4096), "headers_too_large"),
        (endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), "headers_too_large"),
        (endless(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Trailer: y\r\n"), "headers_too_large"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"Content-Length: 0\r\n\r\n", "headers_too_large"),
        *[
            (b"HTTP/1.1 200 OK\r\ncontent-ENCODING: %b\r\nContent-Length: 3\r\n\r\nabc" % name, "content_encoding_refused")
            for name in (b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip, gzip", b"identity, gzip", b"nonsense")
        ],
        (b"<html>hello</html>\r\n\r\n", "malformed_answer"),
        (b"ICY 200 OK\r\n\r\n", "malformed_answer"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed_answer"),
        (endless(b"", b" " * 65536), "malformed_answer"),
        (b"HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n", "malformed_answer"),
        (b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", "malformed_answer"),
        (b"HTTP/1.1 20 Short\r\nContent-Length: 0\r\n\r\n", "malformed_answer"),
        (CHUNKED + b"fffffffffffffffffff\r\nxx", "malformed_answer"),
        (CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n", "malformed_answer"),
        (CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n", "malformed_answer"),
        (CHUNKED + b"2\r\n{}XX0\r\n\r\n", "malformed_answer"),
        (b" HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "malformed_answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n{}", "content_encoding_refused"),
    ],
)  # fmt: skip
def test_an_invalid_or_oversized_response_is_refused(serve, engine, answer, code):
    error = failure(engine, ask(serve(answer), max_body=1 << 20, timeout_ms=2_000))
    assert error.code == code
    assert error.retryable is (code == "malformed_answer")


TWICE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        TWICE + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        TWICE + b"transfer-ENCODING : chunked\r\n\r\n{}",
        TWICE + b"Content-Length: 2\r\n\r\n{}",
        TWICE + b"content-length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        b"HTTP/1.1 200 OK\r\nX-A: b\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_c35_an_answer_that_can_be_read_in_two_ways_is_refused_and_its_connection_not_used_again(serve, engine, answer):
    server = serve(lambda connection, request: connection.sendall(answer) if not server.requests.append(1) else None)
    server.requests = []
    error = failure(engine, ask(server, timeout_ms=2_000))
    assert (error.code, error.retryable) == ("malformed_answer", True)
    failure(engine, ask(server, timeout_ms=2_000))
    assert server.connections == 2


@pytest.mark.parametrize("first", [OK, CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"], ids=["length", "chunked"])
def test_c35_an_unsolicited_second_response_is_never_read_as_the_next(serve, engine, first):
    smuggled = b"HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\nsmuggled"
    server = serve(first + smuggled)
    responses = [engine.fetch(ask(server, timeout_ms=2_000)) for _ in range(3)]
    assert {response.status for response in responses} == {200}
    assert not any(b"smuggled" in response.body for response in responses)


def test_an_answer_at_the_limits_is_taken(serve, engine):
    head = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 99 + b"Content-Length: 1000\r\n\r\n"
    response = engine.fetch(ask(serve(head + b"x" * 1000), max_body=1000))
    assert (len(response.headers), len(response.body)) == (100, 1000)


def test_identity_is_no_encoding(serve, engine):
    assert (
        engine.fetch(ask(serve(OK.replace(b"Content-Type: application/json", b"Content-Encoding: identity")))).status
        == 200
    )


def test_interim_answers_and_trailers_are_dropped(serve, engine):
    server = serve(
        b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Real: 1\r\n\r\n"
        b"2\r\n{}\r\n0\r\nX-Autotune-Response-Signature: late\r\n\r\n"
    )
    response = engine.fetch(ask(server))
    assert response.body == b"{}"
    assert [name for name, _ in response.headers] == ["Transfer-Encoding", "X-Real"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_answers_and_are_not_followed(serve, engine, status):
    other = serve(OK)
    target = f"http://127.0.0.1:{other.port}/".encode()
    server = serve(b"HTTP/1.1 %d Moved\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (status, target))
    assert engine.fetch(ask(server)).status == status
    assert other.connections == 0


def reset(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return "close"


@pytest.mark.parametrize(
    "answer",
    [reset, lambda connection, request: "close", lambda connection, request: connection.sendall(OK[:-1]) or "close"],
    ids=["reset", "closed without an answer", "cut short"],
)
def test_a_broken_connection_may_be_tried_again(serve, engine, answer):
    error = failure(engine, ask(serve(answer)))
    assert (error.code, error.retryable) == ("connection_reset", True)


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0"])
def test_a_host_that_resolves_to_a_private_address_is_refused_before_connecting(serve, host):
    server = serve(OK)
    for allow in ("", "127.0.0.1/32:1", "10.0.0.0/8"):
        engine = Engine(allow=parse_allow(allow))
        error = failure(engine, OutboundRequest("GET", f"https://{host}:{server.port}/", timeout_ms=2_000))
        engine.close()
        assert (error.code, error.retryable) == ("address_refused", False)
    assert server.connections == 0


def test_plain_http_needs_an_allowance(serve):
    server = serve(OK)
    engine = Engine(allow=())
    assert failure(engine, ask(server)).code == "address_refused"
    engine.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "", "127.0.0.1"])
def test_other_schemes_do_not_exist(engine, url):
    error = failure(engine, OutboundRequest("GET", url, timeout_ms=TIMEOUT_MS))
    assert error.code in ("malformed_answer", "invalid_request", "address_refused", "connect_failed")
    assert engine.in_flight == 0


def test_the_allowance_comes_from_the_settings(serve, settings):
    server = serve(OK)
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = ()
    with pytest.raises(OutboundError, match="https"):
        outbound_engine.fetch(ask(server))
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow(f"127.0.0.1/32:{server.port}")
    assert outbound_engine.fetch(ask(server)).status == 200


def test_c20_each_kind_of_call_has_an_allowance_and_connections_of_its_own(serve, settings):
    """A webhook cannot use a connection that a grader's call left open."""
    server = serve(OK)
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow(f"127.0.0.1/32:{server.port}")
    settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = parse_allow("127.0.0.1/32:1")
    settings.AUTOTUNE_OUTBOUND_ALLOW_IDENTITY = ()
    assert outbound_engine.fetch(ask(server)).status == 200
    for kind, variable in (("webhook", "ALLOW_WEBHOOKS"), ("identity", "ALLOW_IDENTITY")):
        with pytest.raises(OutboundError, match=variable) as refused:
            outbound_engine.fetch(ask(server), kind)
        assert refused.value.code == "address_refused"
    assert server.connections == 1


def test_c37_the_refusal_does_not_reveal_the_resolved_address(serve, caplog):
    server = serve(OK)
    engine = Engine(allow=())
    error = failure(engine, OutboundRequest("GET", f"https://localhost:{server.port}/", timeout_ms=2_000))
    engine.close()
    assert error.code == "address_refused"
    assert "127.0.0.1" not in error.message
    assert "::1" not in error.message
    assert str(server.port) not in error.message
    assert "127.0.0.1" in caplog.text or "::1" in caplog.text  # the operator of the server can look it up


# --- many at once ----------------------------------------------------------------------------------------------------


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


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tls(serve, tmp_path):
    engines = []

    def start(certificate=None, *, trusted=True):
        certificate = certificate or Certificate(tmp_path)
        server = serve(OK, tls=certificate.context)
        engine = Engine(allow=parse_allow("127.0.0.1/32"), ca_file=str(certificate.file) if trusted else None)
        engines.append(engine)
        return engine, server, certificate

    yield start
    for engine in engines:
        engine.close()


def ask_tls(server, **changes):
    return OutboundRequest("POST", f"https://127.0.0.1:{server.port}/", body=b"{}", timeout_ms=3_000, **changes)


def test_a_trusted_certificate_passes_and_its_connection_is_used_again(tls):
    engine, server, _ = tls()
    assert [engine.fetch(ask_tls(server)).status for _ in range(3)] == [200] * 3
    assert server.connections == 1


def test_a_self_signed_certificate_is_refused_before_the_request(tls):
    engine, server, _ = tls(trusted=False)
    error = failure(engine, ask_tls(server))
    assert (error.code, error.retryable, server.requests) == ("tls_failed", False, [])


@pytest.mark.parametrize(
    "options", [{"addresses": (), "names": ("other.example",)}, {"days": (-3, -1)}], ids=["wrong name", "expired"]
)
def test_an_invalid_certificate_is_refused(tls, tmp_path, options):
    engine, server, _ = tls(Certificate(tmp_path, **options))
    assert failure(engine, ask_tls(server)).code == "tls_failed"
    assert server.requests == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_below_1_2_is_refused(tls, tmp_path):
    certificate = Certificate(tmp_path)
    certificate.context.set_ciphers("ALL:@SECLEVEL=0")
    certificate.context.minimum_version = ssl.TLSVersion.TLSv1
    certificate.context.maximum_version = ssl.TLSVersion.TLSv1_1
    engine, server, _ = tls(certificate)
    error = failure(engine, ask_tls(server))
    assert (error.code, error.retryable, server.requests) == ("tls_failed", False, [])


def test_a_pin_is_checked_beside_the_certificate(tls):
    engine, server, certificate = tls()
    wrong = "sha256//" + base64.b64encode(bytes(32)).decode()
    assert engine.fetch(ask_tls(server, pins=(wrong, certificate.pin))).status == 200
    error = failure(engine, ask_tls(server, pins=(wrong,)))
    assert (error.code, error.retryable) == ("pin_mismatch", False)
    assert engine.fetch(ask_tls(server)).status == 200
    assert failure(engine, ask_tls(server, pins=(wrong,))).code == "pin_mismatch"
    assert len(server.requests) == 2


def test_a_connection_is_reused_only_under_the_same_pins(tls):
    engine, server, certificate = tls()
    wrong = "sha256//" + base64.b64encode(bytes(32)).decode()
    assert [engine.fetch(ask_tls(server, pins=(certificate.pin,))).status for _ in range(3)] == [200] * 3
    assert server.connections == 1
    assert failure(engine, ask_tls(server, pins=(wrong,))).code == "pin_mismatch"
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_connection_cut_in_the_handshake_may_be_tried_again(serve, engine):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def cut():
            with contextlib.suppress(OSError):
                listener.accept()[0].close()

        threading.Thread(target=cut, daemon=True).start()
        error = failure(engine, OutboundRequest("GET", f"https://127.0.0.1:{port}/", timeout_ms=2_000))
    assert (error.code, error.retryable) == ("connection_reset", True)
