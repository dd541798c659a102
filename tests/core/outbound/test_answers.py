"""Answers that the outbound engine accepts or refuses, from servers that misbehave."""

import socket
import struct

import pytest

from tests.core.outbound.conftest import OK, ask, failure

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TWICE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


def endless(first, piece):
    def answer(connection, request):
        connection.sendall(first)
        while True:
            connection.sendall(piece)

    return answer


def reset(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return "close"


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


@pytest.mark.parametrize(
    "answer",
    [reset, lambda connection, request: "close", lambda connection, request: connection.sendall(OK[:-1]) or "close"],
    ids=["reset", "closed without an answer", "cut short"],
)
def test_a_broken_connection_may_be_tried_again(serve, engine, answer):
    error = failure(engine, ask(serve(answer)))
    assert (error.code, error.retryable) == ("connection_reset", True)
