"""Graders that break the rules of HTTP: the drain ends, the run has the documented code, and there is no score.

The kinds and their numbers are those of the list of hostile inputs, part B.
"""

import tracemalloc
import zlib
from datetime import timedelta

import pytest

from autotune.core.clock import database_now
from scores.models import Score, WorkflowRun
from tests.support.fakes import FakeGrader, serving
from tests.support.misbehaving import COMPLETED, MIB, SLACK_S, TIMEOUT_MS, Faces, failed, retried, signed, unsigned
from tests.support.rawserver import head, result, signature


@pytest.fixture
def faces(db, drain):
    return Faces(drain)


# --- B01, B02: silence and dripping ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "behave",
    [
        lambda connection, request: connection.silence(),
        lambda connection, request: connection.drip(b"HTTP/1.1 200 " + b"O" * 1_000),
        lambda connection, request: connection.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 1_000),
        lambda connection, request: (connection.write(head("200 OK", [("Content-Length", 999)])), connection.drip(b" " * 999)),
    ],
    ids=["nothing", "status line", "headers", "body"],
)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 10])
def test_a_slow_response_is_abandoned_at_the_deadline(faces, behave, batch):
    assert faces(behave, batch=batch) == retried("timeout")
    assert faces.seconds < TIMEOUT_MS / 1000 + SLACK_S


def test_slow_responses_to_many_calls_are_awaited_together(faces):
    assert faces(lambda connection, request: connection.silence(), runs=10) == retried("timeout") * 10
    assert faces.seconds < TIMEOUT_MS / 1000 + SLACK_S


# --- B04, B05, B07, B42: too much ------------------------------------------------------------------------------------


def endless_body(connection, request):
    connection.write(head("200 OK", [("Content-Length", 10**9)]))
    connection.flood(b" " * 65_536)


def endless_chunks(connection, request):
    connection.write(head("200 OK", [("Transfer-Encoding", "chunked")]))
    connection.flood(b"10000\r\n" + b" " * 65_536 + b"\r\n")


def endless_without_length(connection, request):
    connection.write(head("200 OK", [("Connection", "close")]))
    connection.flood(b" " * 65_536)


def length_of_a_terabyte(connection, request):
    connection.write(head("200 OK", [("Content-Length", 10**12)]))
    connection.silence()


@pytest.mark.parametrize("behave", [endless_body, endless_chunks, endless_without_length, length_of_a_terabyte])
@pytest.mark.parametrize("batch", [1, 10])
def test_an_answer_without_end_is_cut_off_at_the_limit_and_memory_stays_flat(faces, behave, batch):
    tracemalloc.start()
    try:
        assert faces(behave, batch=batch) == failed("body_too_large")
        assert tracemalloc.get_traced_memory()[1] < 40 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("batch", "size"), [(1, 1 * MIB), (10, 8 * MIB)])
def test_valid_json_beyond_the_limit_is_refused_by_its_size(faces, batch, size):
    def padded(request):
        body = result(request)
        return body + b" " * (size + 1 - len(body))

    assert faces(signed(padded), batch=batch) == failed("body_too_large")


@pytest.mark.parametrize(("batch", "size"), [(1, 1 * MIB), (10, 8 * MIB)])
def test_valid_json_of_just_the_limit_is_read(faces, batch, size):
    def padded(request):
        body = result(request)
        return body + b" " * (size - len(body))

    assert faces(signed(padded), batch=batch) == COMPLETED


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip, gzip", "x-unknown"])
def test_an_encoded_answer_is_refused_and_never_inflated(faces, encoding):
    bomb = zlib.compress(b"\0" * 10 * MIB)
    behave = signed(bomb, headers=[("Content-Encoding", encoding)])
    assert faces(behave) == failed("content_encoding_refused")


def endless_headers(connection, request):
    connection.write(b"HTTP/1.1 200 OK\r\n")
    connection.flood(b"X-More: " + b"a" * 1_000 + b"\r\n")


def one_long_header(connection, request):
    connection.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    connection.flood(b"a" * 65_536)


def endless_trailers(connection, request):
    connection.write(head("200 OK", [("Transfer-Encoding", "chunked")]), b"0\r\n")
    connection.flood(b"X-Trailer: " + b"a" * 1_000 + b"\r\n")


@pytest.mark.parametrize("behave", [endless_headers, one_long_header, endless_trailers])
def test_headers_and_trailers_without_end_are_cut_off(faces, behave):
    ((status, code),) = faces(behave)
    assert (status, code) in {("failed", "headers_too_large"), ("sleeping", "malformed_answer")}
    assert faces.seconds < TIMEOUT_MS / 1000 + SLACK_S


def endless_chunk_extension(connection, request):
    connection.write(head("200 OK", [("Transfer-Encoding", "chunked")]), b"1;x=")
    connection.flood(b"a" * 65_536)


def chunk_size_overflow(connection, request):
    connection.write(head("200 OK", [("Transfer-Encoding", "chunked")]), b"F" * 40 + b"\r\n{}\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("behave", "codes"), [(endless_chunk_extension, {"timeout", "malformed_answer"}), (chunk_size_overflow, {"malformed_answer"})]
)  # fmt: skip
def test_chunks_that_break_the_framing_end_the_attempt(faces, behave, codes):
    ((status, code),) = faces(behave)
    assert status == "sleeping"
    assert code in codes
    assert faces.seconds < TIMEOUT_MS / 1000 + SLACK_S


# --- B08, B13, B14: statuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "itself", "another"]
)
def test_a_redirect_is_not_followed(faces, status, target):
    with serving(FakeGrader()) as another:

        def behave(connection, request):
            place = {"itself": "/score", "another": f"{another.url}/score"}.get(target, target)
            body = result(request)
            headers = [("Location", place), *signature(request, body)]
            connection.answer(body, status=f"{status} Elsewhere", headers=headers)

        assert faces(behave) == failed("redirect_refused")
        assert len(faces.requests) == 1
        assert another.calls == []


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 599])
@pytest.mark.parametrize("with_signature", [True, False])
def test_a_signed_or_unsigned_5xx_is_retried(faces, status, with_signature):
    make = signed if with_signature else unsigned
    assert faces(make(b"<html>", status=f"{status} Oops")) == retried("grader_unavailable")


@pytest.mark.parametrize("status", ["999 Odd", "000 None", "099 Low", "600 High", "20 Short", "2000 Long", "abc Text"])
def test_an_invalid_http_status_is_refused(faces, status):
    assert faces(signed(result, status=status)) == retried("malformed_answer")


@pytest.mark.parametrize("status", ["201 Created", "203 Other", "206 Partial", "299 Odd"])
def test_another_2xx_with_a_good_body_is_refused(faces, status):
    assert faces(signed(result, status=status)) == failed("unexpected_status")


def test_a_204_is_refused(faces):
    behave = lambda connection, request: connection.write(head("204 No Content", signature(request, b"")))  # noqa: E731
    assert faces(behave) == failed("unexpected_status")


def test_an_unsigned_web_page_with_status_200_is_retried(faces):
    page = unsigned(b"<html>Welcome</html>", headers=[("Content-Type", "text/html")])
    assert faces(page) == retried("missing_header")


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/problem+json", ""])
def test_a_signed_answer_of_another_media_type_is_refused(faces, kind):
    assert faces(signed(result, headers=[("Content-Type", kind)])) == failed("wrong_content_type")


def test_an_honest_answer_after_a_hostile_one_is_scored_once(faces):
    assert faces(lambda connection, request: connection.silence()) == retried("timeout")
    assert WorkflowRun.objects.get().wake_at <= database_now() + timedelta(seconds=1)
    with serving(FakeGrader()) as honest:
        run = faces.again(honest.url)
    assert (run.status, run.failures, run.attempt) == ("completed", 1, 2)
    assert Score.objects.get().value == 0.75
