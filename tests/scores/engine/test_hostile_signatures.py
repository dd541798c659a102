"""Answers whose signature, time or id is not that of our request are never recorded (hostile inputs B15 to B19)."""

import json
import time

import pytest

from scores.models import WorkflowRun
from tests.support.misbehaving import COMPLETED, TIMEOUT_MS, Faces, retried, signed, unsigned
from tests.support.rawserver import raw_server, result, signature


@pytest.fixture
def faces(db, drain):
    return Faces(drain)


# --- B15 to B19: signatures -----------------------------------------------------------------------------------------


def with_headers(change):
    """A behaviour whose two signature headers went through `change(timestamp, signature, request)` -> headers."""

    def behave(connection, request):
        body = result(request)
        (_, stamp), (_, mark) = signature(request, body)
        connection.answer(body, headers=change(stamp, mark, request))

    return behave


AT, MARK = "X-Autotune-Response-Timestamp", "X-Autotune-Response-Signature"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda stamp, mark, request: [], "missing_header"),
        (lambda stamp, mark, request: [(AT, stamp)], "missing_header"),
        (lambda stamp, mark, request: [(MARK, mark)], "missing_header"),
        (lambda stamp, mark, request: [(AT, stamp), (MARK, mark), (MARK, mark)], "malformed_header"),
        (lambda stamp, mark, request: [(AT, stamp), (AT, stamp), (MARK, mark)], "malformed_header"),
        (lambda stamp, mark, request: [(AT, stamp), (MARK, mark[:-2])], "malformed_header"),
        (lambda stamp, mark, request: [(AT, stamp), (MARK, "0" * 64)], "bad_signature"),
        (lambda stamp, mark, request: [(AT, stamp + "0"), (MARK, mark)], "bad_signature"),
        (lambda stamp, mark, request: [(AT, "0" + stamp), (MARK, mark)], "malformed_header"),
        (lambda stamp, mark, request: [(AT, stamp + ".5"), (MARK, mark)], "malformed_header"),
        (
            lambda stamp, mark, request: [("X-Autotune-Timestamp", stamp), ("X-Autotune-Signature", mark)],
            "missing_header",
        ),
    ],
)
def test_an_answer_without_a_valid_signature_is_never_recorded(faces, change, code):
    assert faces(with_headers(change)) == retried(code)


def test_a_signature_in_upper_case_is_accepted(faces):
    assert faces(with_headers(lambda stamp, mark, request: [(AT, stamp), (MARK, mark.upper())])) == COMPLETED


def test_a_signature_with_another_secret_is_refused(faces):
    assert faces(signed(result, secret="atgs_" + "x" * 48)) == retried("bad_signature")


def test_a_body_that_was_changed_after_signing_is_refused(faces):
    def behave(connection, request):
        connection.answer(result(request, {"value": 1, "confidence": 1}), headers=signature(request, result(request)))

    assert faces(behave) == retried("bad_signature")


def test_swapped_responses_are_recorded_for_neither(faces):
    waiting = []

    def behave(connection, request):
        waiting.append(request)
        end = time.monotonic() + TIMEOUT_MS / 2000
        while len(waiting) < 2 and time.monotonic() < end:
            time.sleep(0.005)
        other = next(waiting_request for waiting_request in waiting if waiting_request is not request)
        body = result(other)
        connection.answer(body, headers=signature(other, body))

    assert faces(behave, runs=2) == retried("bad_signature") * 2


def test_a_response_from_yesterday_is_refused(faces):
    def behave(connection, request):
        body = json.dumps({"requestId": "yesterday", "score": {"value": 1, "confidence": 1}}).encode()
        connection.answer(body, headers=signature(request, body, offset_s=-86_400, request_id="yesterday"))

    assert faces(behave) == retried("bad_signature")


def test_a_body_about_another_request_is_refused_although_its_signature_is_good(faces):
    body = lambda request: result(request).replace(request.id.encode(), b"another")  # noqa: E731
    assert faces(signed(body)) == retried("wrong_request_id")


def test_an_echoed_request_is_refused(faces):
    def behave(connection, request):
        headers = [(AT, request.headers["x-autotune-timestamp"]), (MARK, request.headers["x-autotune-signature"])]
        connection.answer(request.body, headers=headers)

    assert faces(behave) == retried("reflected")


@pytest.mark.parametrize("seconds", [-310, 310])
def test_a_clock_that_is_off_by_more_than_five_minutes_is_refused_and_named(faces, seconds):
    assert faces(signed(result, offset_s=seconds)) == retried("stale_timestamp")
    assert "clock" in WorkflowRun.objects.get().error_message


@pytest.mark.parametrize("seconds", [-290, 290])
def test_a_clock_that_is_off_by_less_is_accepted(faces, seconds):
    assert faces(signed(result, offset_s=seconds)) == COMPLETED


def test_a_bad_signature_is_retried_once_and_then_fails(faces):
    assert faces(unsigned()) == retried("missing_header")
    with raw_server(unsigned()) as server:
        run = faces.again(server.url)
    assert (run.status, run.error_code, run.failures) == ("failed", "missing_header", 2)
