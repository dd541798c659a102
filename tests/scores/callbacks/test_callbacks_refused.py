"""What POST /callbacks/:token refuses: hostile inputs C03 and C07 to C13. Nothing of it is stored."""

import json
import logging
import time

import pytest
from django.db import OperationalError

from scores.callbacks import registry, throttle
from scores.models import Score, WorkflowRun
from tests.conftest import Api
from tests.factories import SECRET, CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.calling_back import call_back, path_of, signature, status_and_code

GOOD = {"score": {"value": 0.75, "confidence": 0.9}}
UNAUTHORIZED = b'{"code":"unauthorized"}'


@pytest.fixture
def request_(fake, db, drain):
    """A request that was answered 202."""
    fake.answers_later = True
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, supports_async=True)
    RunFactory(completion=CompletionFactory(task=TaskFactory(organization=grader.organization, graders=[grader])))
    drain(grader)
    (request,) = fake.accepted
    return request


@pytest.fixture(autouse=True)
def _nothing_is_stored(db):
    """Whatever was sent, the run waits on and the right answer is still taken."""
    yield
    assert not Score.objects.exists()
    assert {run.status for run in WorkflowRun.objects.all()} <= {"waiting"}


def right(request):
    return json.dumps({"requestId": request["requestId"], **GOOD}).encode()


# --- who may answer -------------------------------------------------------------------------------------------------


FORGED = {
    "no_signature": {"x_autotune_signature": None},
    "no_time": {"x_autotune_timestamp": None},
    "no_id": {"x_autotune_request_id": None},
    "another_signature": {"x_autotune_signature": "f" * 64},
    "half_a_signature": {"x_autotune_signature": "f" * 32},
    "no_hexadecimal": {"x_autotune_signature": "é" * 64},
    "two_signatures": {"x_autotune_signature": "f" * 64 + "," + "f" * 64},
    "another_id": {"x_autotune_request_id": "another"},
    "time_in_words": {"x_autotune_timestamp": "now"},
}


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED.keys())
def test_every_cause_of_a_401_has_the_same_body(request_, changes):
    answer = call_back(request_, right(request_), **changes)
    assert (answer.status_code, answer.content) == (401, UNAUTHORIZED)
    assert answer.get("WWW-Authenticate") is None


@pytest.mark.parametrize("skew", [-301, 360, -86_400])
def test_a_wrong_timestamp_is_the_same_401(request_, skew):
    answer = call_back(request_, right(request_), sent_at=time.time() + skew)
    assert (answer.status_code, answer.content) == (401, UNAUTHORIZED)


def test_another_graders_secret_is_the_same_401(request_):
    GraderFactory(secret="atgs_" + "x" * 48)
    answer = call_back(request_, right(request_), secret="atgs_" + "x" * 48)
    assert (answer.status_code, answer.content) == (401, UNAUTHORIZED)


def test_another_body_than_the_signed_one_is_the_same_401(request_):
    headers = signature(request_["requestId"], right(request_))
    answer = Api().post(path_of(request_), raw=right(request_) + b" ", **headers)
    assert (answer.status_code, answer.content) == (401, UNAUTHORIZED)


def test_the_request_itself_sent_back_is_the_same_401(request_):
    """Its signature is right, but it is the platform's own."""
    body = json.dumps(request_).encode()
    row = registry.Callback.objects.get()
    row.signature = signature(request_["requestId"], body)["x_autotune_signature"]
    row.save(update_fields=["signature"])
    answer = call_back(request_, body)
    assert (answer.status_code, answer.content) == (401, UNAUTHORIZED)


def test_the_acknowledgement_sent_as_a_callback_is_no_result(request_):
    body = {"requestId": request_["requestId"], "status": "accepted"}
    assert status_and_code(call_back(request_, body)) == (422, "invalid_result")


def test_a_key_of_the_api_is_no_signature(request_, api_for):
    api = api_for(role="training_operator")
    assert api.post(path_of(request_), raw=right(request_)).status_code == 401
    assert api.last.content == UNAUTHORIZED


@pytest.mark.parametrize("token", ["x", "0", "A" * 43, "%00", "é", "a.b"])
def test_a_guessed_address_is_not_found(request_, token):
    answer = Api().post(f"/callbacks/{token}", raw=right(request_), **signature("r", right(request_)))
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"


def test_a_token_with_another_ending_is_not_found(request_):
    token = request_["callbackUrl"][:-1] + ("A" if request_["callbackUrl"][-1] != "A" else "B")
    assert call_back({**request_, "callbackUrl": token}, right(request_)).status_code == 404


# --- what may be sent -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (b" ", (400, "invalid_json")),
        (b"{", (400, "invalid_json")),
        (b'{"score": NaN}', (400, "invalid_json")),
        (b"\xff", (400, "invalid_json")),
        (b"[]", (422, "invalid_result")),
        (b'{"requestId": "another", "score": {"value": 1, "confidence": 1}}', (422, "invalid_result")),
        (b"{}", (422, "invalid_result")),
    ],
)
def test_a_signed_body_with_an_invalid_result_can_be_corrected_and_resent(request_, body, reply):
    assert status_and_code(call_back(request_, body)) == reply


@pytest.mark.parametrize("score", [{"value": 2, "confidence": 1}, {"value": "1", "confidence": 1}, {"value": 1}, None])
def test_a_score_that_breaks_a_rule_is_invalid(request_, score):
    assert status_and_code(call_back(request_, {"requestId": request_["requestId"], "score": score})) == (
        422,
        "invalid_result",
    )


def test_more_than_8_mib_are_refused_unread(request_, monkeypatch):
    monkeypatch.setattr(registry, "receive", None)
    answer = Api().client.generic(
        "POST", f"/api/v1{path_of(request_)}", b"{}", content_type="application/json",
        CONTENT_LENGTH=str(8 * 2**20 + 1),
    )  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_8_mib_are_read(request_):
    assert status_and_code(call_back(request_, b" " * (8 << 20))) == (400, "invalid_json")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_another_content_type_is_refused(request_, kind):
    answer = Api().post(path_of(request_), raw=right(request_), content_type=kind)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_a_compressed_body_is_refused(request_):
    assert call_back(request_, right(request_), content_encoding="gzip").status_code == 415


def test_a_body_without_a_length_is_refused(request_):
    for more in ({"HTTP_TRANSFER_ENCODING": "chunked"}, {}):
        answer = Api().client.generic(
            "POST", f"/api/v1{path_of(request_)}", b"{}", content_type="application/json", CONTENT_LENGTH="", **more
        )
        assert (answer.status_code, answer.json()["code"]) == (411, "length_required")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD"])
def test_only_post_is_offered(request_, method):
    answer = Api().call(method, path_of(request_))
    assert (answer.status_code, "POST" in answer["Allow"]) == (405, True)


# --- floods and logs ------------------------------------------------------------------------------------------------


def test_a_flood_at_one_address_is_429_and_the_others_are_served(request_, monkeypatch):
    monkeypatch.setattr(throttle.time, "monotonic", lambda: 1_000.0)  # all within one second
    forged = {"x_autotune_signature": "f" * 64}
    answers = [call_back(request_, b"{}", **forged).status_code for _ in range(throttle.PER_SECOND + 3)]
    assert answers == [401] * throttle.PER_SECOND + [429] * 3
    assert call_back({**request_, "callbackUrl": "/api/v1/callbacks/other"}, b"{}").status_code == 404
    monkeypatch.setattr(throttle.time, "monotonic", lambda: 1_001.0)
    assert call_back(request_, b"{}", **forged).status_code == 401


def test_a_flood_gets_a_retry_after(request_, monkeypatch):
    monkeypatch.setattr(throttle, "PER_SECOND", 0)
    answer = call_back(request_, right(request_))
    assert (answer.status_code, answer["Retry-After"], answer.json()["code"]) == (429, "1", "too_many_requests")


@pytest.mark.parametrize("error", [OperationalError("gone"), RuntimeError("broken")], ids=["database", "fault"])
def test_no_log_line_holds_the_token(request_, monkeypatch, capfd, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(registry, "receive", fail)
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:
            monkeypatch.setattr(handler, "stream", open(2, "w", closefd=False))  # noqa: SIM115 - the test's own
    answer = call_back(request_, right(request_), secret=SECRET)
    assert answer.status_code in (500, 503)
    assert request_["callbackUrl"].rpartition("/")[2] not in answer.content.decode()
    lines = capfd.readouterr().err
    assert "/api/v1/callbacks/[token]" in lines
    assert request_["callbackUrl"].rpartition("/")[2] not in lines
