"""What every operation has in common: keys, parameters, bodies, ids, request ids."""

import json

import pytest

from autotune.core import ids
from tests.api.documented import CALLS, OPERATIONS, PROBLEM

WITH_BODY = [operation for operation in OPERATIONS if operation.has_body]
WITH_KEY = [operation for operation in OPERATIONS if operation.needs_key]
WITHOUT_BODY = [
    operation for operation in WITH_KEY if not operation.has_body and operation.method in ("POST", "DELETE")
]
REPEATABLE = [operation for operation in OPERATIONS if operation.takes_idempotency_key]
WITH_IDS = [operation for operation in WITH_KEY if operation.ids]

one_engine = pytest.mark.one_engine  # settled before anything but the key is read


def each(operations):
    return pytest.mark.parametrize("operation", operations, ids=lambda operation: operation.name)


def refusal(answer, status):
    """The problem of a refusal."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == PROBLEM
    problem = answer.json()
    assert problem["status"] == status
    assert problem["requestId"] == answer["X-Request-Id"]
    return problem


def right_body(operation, world):
    call = CALLS[operation.name][0]
    return call.body(world) if call.body else None


def call(operation, world, *, ids=None, query="", **more):
    return world.api.call(operation.method, operation.url(ids or world.ids) + query, **more)


# --- who asks -------------------------------------------------------------------------------------------------------


@one_engine
@each(WITH_KEY)
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer x", "Basic eDp5", "bearer at_live_x", "Bearer at_live_é"]
)
def test_without_a_valid_key_the_answer_is_401(world, operation, header):
    world.api.key = None
    answer = call(operation, world, raw=b"no json", **({} if header is None else {"authorization": header}))
    assert refusal(answer, 401)["code"] == "unauthenticated"
    assert answer["WWW-Authenticate"].startswith("Bearer")


@one_engine
@each(WITH_KEY)
def test_a_key_in_the_query_is_ignored(world, operation):
    key, world.api.key = world.api.key, None
    answer = call(operation, world, query=f"?api_key={key}&access_token={key}")
    assert key not in json.dumps(refusal(answer, 401))


@each(
    [
        operation
        for operation in OPERATIONS
        if not operation.needs_key and operation.method == "GET" and not operation.ids
    ]
)
def test_an_open_endpoint_ignores_the_key(world, operation):
    world.api.key = None
    assert call(operation, world).status_code == 200
    assert call(operation, world, authorization="Bearer x").status_code == 200


# --- idempotency keys -----------------------------------------------------------------------------------------------


def test_every_post_with_a_key_of_the_api_takes_an_idempotency_key():
    assert [operation for operation in WITH_KEY if operation.method == "POST"] == REPEATABLE


@each(REPEATABLE)
def test_the_same_request_again_is_answered_with_the_first_answer(world, operation):
    right = CALLS[operation.name][0]
    url, body = right.url(operation, world), right_body(operation, world)
    first, again, other = (
        world.api.call(operation.method, url, sent, idempotency_key="k")
        for sent in (body, body, {**(body or {}), "wat": 1})
    )
    assert first.status_code == again.status_code < 300, again.content
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert again.json().keys() == first.json().keys()
    assert other.status_code in (400, 422)


@each(REPEATABLE)
def test_an_invalid_idempotency_key_is_refused(world, operation):
    right = CALLS[operation.name][0]
    answer = world.api.call(
        operation.method, right.url(operation, world), right_body(operation, world), idempotency_key=""
    )
    assert refusal(answer, 400)["errors"][0]["pointer"] == "@Idempotency-Key"


# --- parameters and request ids -------------------------------------------------------------------------------------


@one_engine
@each(OPERATIONS)
def test_an_unknown_query_parameter_is_named(world, operation):
    answer = call(operation, world, query="?wat=1", body=right_body(operation, world))
    (error,) = refusal(answer, 400)["errors"]
    assert (error["pointer"], error["code"]) == ("?wat", "unknown_parameter")


@each(OPERATIONS)
def test_a_valid_request_id_is_returned(world, operation):
    for request_id in ("my-Request_1", "x" * 64):
        assert call(operation, world, x_request_id=request_id)["X-Request-Id"] == request_id
        assert call(operation, world, query="?wat=1", x_request_id=request_id).json()["requestId"] == request_id


@one_engine
@pytest.mark.parametrize("request_id", ["", "x" * 65, "a b", "é", "a\x00", "<script>", "a;b"])
@pytest.mark.parametrize("path", ["/health", "/tasks", "/no-such-path"])
def test_an_invalid_request_id_is_replaced(world, path, request_id):
    replacement = world.api.get(path, x_request_id=request_id)["X-Request-Id"]
    assert replacement != request_id
    assert 1 <= len(replacement) <= 64


# --- bodies ---------------------------------------------------------------------------------------------------------


@one_engine
@each(WITH_BODY)
@pytest.mark.parametrize(
    "raw", [b"{", b"{} {}", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"a": "\\u0000"}', b"[]"]
)
def test_an_invalid_json_body_is_refused(world, operation, raw):
    (error,) = refusal(call(operation, world, raw=raw), 400)["errors"]
    assert error["code"] in {"invalid_json", "duplicate_key", "invalid_text", "wrong_type"}


@one_engine
@each(WITH_BODY)
def test_an_unknown_member_is_named(world, operation):
    body = {**right_body(operation, world), "wat": 1}
    (error,) = refusal(call(operation, world, body=body), 400)["errors"]
    assert (error["pointer"], error["code"]) == ("/wat", "unknown_field")


@one_engine
@each(WITH_BODY)
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", ""]
)
def test_another_content_type_is_refused(world, operation, content_type):
    answer = call(operation, world, body=right_body(operation, world), content_type=content_type)
    assert refusal(answer, 415)["code"] == "unsupported_media_type"


@one_engine
@each(WITH_BODY)
def test_a_chunked_body_without_a_length_is_refused(world, operation):
    answer = world.api.client.generic(
        operation.method, f"/api/v1{operation.url(world.ids)}", b"{}", content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {world.api.key}", HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH="",
    )  # fmt: skip
    assert refusal(answer, 411)["code"] == "length_required"
    assert answer["Connection"] == "close"


@one_engine
@each(WITH_BODY)
def test_a_compressed_or_too_large_body_is_refused(world, operation):
    assert refusal(call(operation, world, raw=b"x", content_encoding="gzip"), 415)
    answer = world.api.client.generic(
        operation.method, f"/api/v1{operation.url(world.ids)}", b"{}", content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {world.api.key}", CONTENT_LENGTH=str(32 * 2**20 + 1),
    )  # fmt: skip
    assert refusal(answer, 413)["code"] == "body_too_large"


@one_engine
@each(WITHOUT_BODY)
def test_an_operation_without_a_body_takes_none(world, operation):
    (error,) = refusal(call(operation, world, body={"force": True}), 400)["errors"]
    assert (error["pointer"], error["code"]) == ("/force", "unknown_field")
    assert refusal(call(operation, world, raw=b"{"), 400)
    assert refusal(call(operation, world, raw=b"{}", content_type="text/plain"), 415)


# --- ids ------------------------------------------------------------------------------------------------------------

KINDS = {
    "grader_id": "grader",
    "task_id": "task",
    "completion_id": "comp",
    "score_id": "score",
    "review_id": "rev",
    "erasure_id": "ers",
    "hold_id": "hold",
    "endpoint_id": "rwd",
    "event_id": "aud",
    "export_id": "exp",
    "run_id": "run",
    "organization_id": "org",
    "member_id": "member",
    "role_id": "role",
    "key_id": "key",
    "webhook_id": "whk",
    "delivery_id": "dlv",
}


def malformed(kind):
    right = ids.encode(kind, ids.new())
    return [
        "x", "1", "null", "-1", "%00", "1%20OR%201=1", "..", f"{kind}_", kind, right[:-1], right + "0", right.upper(),
        right + "%0A", "%20" + right, f"{kind}_8" + right[-25:], f"{kind}_" + "l" * 26, "run" + right[len(kind) :],
        "0190163d-8694-739b-aea5-966c26f8ad91", "%7B0190163d-8694-739b-aea5-966c26f8ad91%7D",
    ]  # fmt: skip


@each(WITH_IDS)
def test_a_malformed_id_in_the_path_is_not_found(world, operation):
    for name in operation.ids:
        for text in malformed(KINDS[name]):
            answer = call(operation, world, ids={**world.ids, name: text}, body=right_body(operation, world))
            assert answer.status_code in (404, 405), text  # 405: the text is another route, such as /scores/summary
            assert answer["Content-Type"] == PROBLEM


@each(WITH_IDS)
def test_objects_of_another_organization_are_not_found(world, elsewhere, operation):
    body = right_body(operation, world)
    nobodys = {name: ids.encode(KINDS[name], ids.new()) for name in operation.ids}
    answers = [call(operation, world, ids=where, body=body) for where in (elsewhere.ids, nobodys)]
    first, second = ({**refusal(answer, 404), "requestId": None} for answer in answers)
    assert first == second
    assert call(operation, elsewhere, body=right_body(operation, elsewhere)).status_code not in (404, 500)


# --- addresses and methods ------------------------------------------------------------------------------------------


@one_engine
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/no-such-path", "/tasks/x/y/z", "/%00", "/../tasks", "/é"])
def test_an_unknown_address_is_a_problem_too(world, method, path):
    assert refusal(world.api.call(method, path), 404)["code"] == "not_found"


@one_engine
@each(OPERATIONS)
def test_methods_that_are_not_offered_are_405(world, operation):
    offered = {candidate.method for candidate in OPERATIONS if candidate.path == operation.path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} - offered:
        answer = world.api.call(method, operation.url(world.ids), raw=b"")
        assert refusal(answer, 405)["code"] == "method_not_allowed"
        assert set(answer["Allow"].split(", ")) >= offered


@one_engine
@each(OPERATIONS)
def test_options_says_what_is_offered(world, operation):
    answer = world.api.call("OPTIONS", operation.url(world.ids))
    assert answer.status_code in (200, 204)
    assert operation.method in answer["Allow"]


@each([operation for operation in OPERATIONS if operation.method == "GET"])
def test_head_is_get_without_the_body(world, operation):
    answer = call(operation, world)
    head = world.api.call("HEAD", operation.url(world.ids))
    assert (head.status_code, head["Content-Type"]) == (answer.status_code, answer["Content-Type"])


@one_engine
@pytest.mark.parametrize("origin", ["null", "https://evil.example.org"])
def test_no_cross_origin_header_is_sent(world, origin):
    for method in ("GET", "OPTIONS"):
        answer = world.api.call(method, "/tasks", origin=origin, access_control_request_method="POST")
        assert not any(name.lower().startswith("access-control-") for name in answer.headers)


@one_engine
@pytest.mark.parametrize("host", ["evil.example.org", "evil.example.org:80", "localhost.evil.example.org"])
def test_a_host_that_is_not_ours_is_refused(world, host):
    assert world.api.get("/tasks", host=host).status_code == 400
