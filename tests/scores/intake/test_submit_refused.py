"""Every refusal of the conventions, on POST /completions and inside a batch: 400 with the pointer, and nothing stored."""

import json

import pytest
from django.conf import settings

from tests.factories import TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db
ALONE, BATCH = "/completions", "/completions/batch"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def nested(depth):
    """`depth` lists, one inside the other."""
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def wire(task, members):
    """The submission as text; a member of type `bytes` is inserted unchanged."""
    parts = []
    for name, value in item(task, **members).items():
        written = value if isinstance(value, bytes) else json.dumps(value).encode()
        parts.append(json.dumps(name).encode() + b":" + written)
    return b"{" + b",".join(parts) + b"}"


def refused_everywhere(api, task, members, pointer, code):
    wire_item = wire(task, members)
    assert problems(api.post(ALONE, raw=wire_item)) == [(pointer, code)]
    batch = b'{"completions":[' + wire(task, {}) + b"," + wire_item + b"]}"
    errors = problems(api.post(BATCH, raw=batch))
    assert errors == [("/completions/1" + pointer, code)]
    assert rows() == (0, 0)


NO_IDS = [
    *(None, 1, True, 1.0, -1, 2**53 - 1, [], ["task_01jd0000000000000000000000"], {"id": 1}, "", "1 OR 1=1"),
    "{0190163d-8694-739b-aea5-966c26f8ad91}",
    "0190163D-8694-739B-AEA5-966C26F8AD91",
    "TASK_01JD0000000000000000000000",
    "task_01JD0000000000000000000000",
    "comp_01jd0000000000000000000000",
    "task_01jd0000000000000000000000\n",
    " task_01jd0000000000000000000000",
    "task_81jd0000000000000000000000",
    "task_01jd000000000000000000000l",
    "task_" + "0" * 100_000,
]
NOT_THE_CALLERS = [
    "organization",
    "organizationId",
    "owner",
    "id",
    "score",
    "status",
    "createdAt",
    "isAdmin",
    "reward",
    "source",
    "taskVersion",
    "callbackUrl",
    "webhook",
    "webhookUrl",
    "task_id",
    "model_id",
    "externalID",
    "__proto__",
]
WRONG_VALUES = [
    # numbers that are none
    ({"metadata": b'{"n":NaN}'}, "/metadata/n", "invalid_json"),
    ({"metadata": b'{"a":[0,-Infinity]}'}, "/metadata/a/1", "invalid_json"),
    ({"metadata": b'{"n":1e999}'}, "/metadata/n", "number_not_finite"),
    ({"metadata": b'{"n":-1e999}'}, "/metadata/n", "number_not_finite"),
    ({"modelId": b"Infinity"}, "/modelId", "invalid_json"),
    ({"metadata": b'{"n":' + b"9" * 5000 + b"}"}, "/metadata/n", "number_not_finite"),
    ({"metadata": {"n": 2**53}}, "/metadata/n", "integer_out_of_range"),
    ({"metadata": {"a": [{"b/c": -(2**53)}]}}, "/metadata/a/0/b~1c", "integer_out_of_range"),
    # members twice
    ({"metadata": b'{"k":1,"k":1}'}, "/metadata/k", "duplicate_key"),
    ({"metadata": b'{"a":[{"k":1,"\\u006b":2}]}'}, "/metadata/a/0/k", "duplicate_key"),
    # NUL and lone surrogates
    *[
        ({name: "a" + char}, f"/{name}", "invalid_text")
        for name in ("prompt", "response", "modelId", "externalId", "priority")
        for char in ("\x00", "\ud800", "\udfff")
    ],
    ({"metadata": {"k": "\x00"}}, "/metadata/k", "invalid_text"),
    ({"metadata": {"k": ["\udc00\ud800"]}}, "/metadata/k/0", "invalid_text"),
    ({"metadata": {"a": {"k\x00": 1}}}, "/metadata/a/k\ufffd", "invalid_text"),
    ({"metadata": {"k\ud800": 1}}, "/metadata/k\ufffd", "invalid_text"),
    ({"prompt": ..., "variables": {"question": "\x00"}}, "/variables/question", "invalid_text"),
    ({"prompt": ..., "messages": [{"role": "user", "content": "\ud800"}]}, "/messages/0/content", "invalid_text"),
    # depth and size
    ({"metadata": {"a": nested(16)}}, "/metadata/a" + "/0" * 15, "too_deep"),
    ({"metadata": {"t": "x" * 65_536}}, "/metadata", "too_long"),
    ({"response": "x" * (2**20 + 1)}, "/response", "too_long"),
    ({"response": "é" * (2**19 + 1)}, "/response", "too_long"),
    ({"prompt": "x" * (2**20 + 1)}, "/prompt", "too_long"),
    ({"modelId": "m" * 201}, "/modelId", "invalid_length"),
    ({"modelId": ""}, "/modelId", "invalid_length"),
    ({"modelId": " \u3000"}, "/modelId", "invalid_format"),
    ({"externalId": ""}, "/externalId", "invalid_length"),
    ({"externalId": "x" * 256}, "/externalId", "invalid_length"),
    # members that are missing, or of another type
    *[({name: ...}, f"/{name}", "missing_field") for name in ("taskId", "modelId", "response")],
    *[
        ({name: value}, f"/{name}", "wrong_type")
        for name in ("modelId", "response", "prompt", "externalId")
        for value in (1, True, ["x"], {"x": "y"}, 0.5)
    ],
    ({"response": None}, "/response", "wrong_type"),
    ({"modelId": None}, "/modelId", "wrong_type"),
    *[({"metadata": value}, "/metadata", "wrong_type") for value in ("x", 1, True, [], [{}])],
    # ids that are none
    *[({"taskId": value}, "/taskId", "malformed_id") for value in NO_IDS],
    # priority and deadlines
    ({"priority": "urgent"}, "/priority", "invalid_choice"),
    ({"priority": "High"}, "/priority", "invalid_choice"),
    ({"priority": ""}, "/priority", "invalid_choice"),
    *[({"priority": value}, "/priority", "wrong_type") for value in (-1, 0, 1, 1e9, True, ["high"])],
    *[({name: 0}, f"/{name}", "unknown_field") for name in ("deadline", "deadlineMs", "retries", "retry", "attempts")],
    # members that are not the caller's to set, or come later
    *[({name: "x"}, f"/{name}", "unknown_field") for name in NOT_THE_CALLERS],
    ({"a/b~c": "x"}, "/a~1b~0c", "unknown_field"),
]


@pytest.mark.parametrize(("members", "pointer", "code"), WRONG_VALUES, ids=lambda value: str(value)[:50])
def test_a_wrong_value_is_refused_with_its_pointer(api, task, members, pointer, code):
    refused_everywhere(api, task, members, pointer, code)


def test_a_duplicate_or_unknown_member_is_named_even_at_the_top(api, task):
    right = wire(task, {})
    doubled = right[:-1] + b',"response":"5"}'
    assert problems(api.post(ALONE, raw=doubled)) == [("/response", "duplicate_key")]
    assert problems(api.post(BATCH, raw=b'{"completions":[' + doubled + b"]}")) == [
        ("/completions/0/response", "duplicate_key")
    ]
    twice = b'{"completions":[' + right + b'],"completions":[]}'
    assert problems(api.post(BATCH, raw=twice)) == [("/completions", "duplicate_key")]
    assert rows() == (0, 0)


NOT_JSON = {
    "nothing": b"",
    "spaces": b"  \n",
    "cut": b'{"taskId": "x"',
    "two values": b"{} {}",
    "text after it": b"{}x",
    "single quotes": b"{'a': 1}",
    "a trailing comma": b'{"a": 1,}',
    "a comment": b"{} // x",
    "a bare NaN": b"NaN",
    "a form": b"taskId=x&response=y",
    "a control character": b'{"a": "\x01\n"}',
    "a bad escape": b'{"a": "\\x41"}',
    "a leading zero": b'{"a": 01}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": "b"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"a": "b"}'.encode("utf-16-le"),
    "UTF-32": '{"a": "b"}'.encode("utf-32"),
    "Latin-1": '{"a": "é"}'.encode("latin-1"),
    "an overlong form": b'{"a": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "a pair of surrogates in UTF-8": b'{"a": "\xed\xa0\xbd\xed\xb8\x80"}',
    "a cut character": b'{"a": "\xf0\x9f"}',
    "beyond Unicode": b'{"a": "\xf4\x90\x80\x80"}',
}


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON)
def test_a_body_that_is_not_json_in_utf_8_is_refused(api, task, path, raw):
    answer = api.post(path, raw=raw)
    assert [code for _, code in problems(answer)] == ["invalid_json"]
    assert rows() == (0, 0)


@pytest.mark.parametrize("path", [ALONE, BATCH])
def test_c22_a_body_with_a_byte_order_mark_is_refused_with_that_reason(api, path):
    answer = api.post(path, raw=b'\xef\xbb\xbf{"response":"r"}')
    assert answer.status_code == 400
    assert "begins with a byte-order mark" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize("body", [[], "x", 1, None, True, [{}], 0.5])
def test_a_body_that_is_no_object_is_refused(api, path, body):
    assert problems(api.post(path, raw=json.dumps(body).encode())) == [("", "wrong_type")]


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize("bracket", [b"[", b'{"a":', b'{"metadata":'])
@pytest.mark.parametrize("closed", [True, False])
def test_brackets_without_end_are_refused(api, path, bracket, closed):
    ends = {b"[": b"]"}.get(bracket, b"}")
    raw = bracket * 100_000 + (b"1" + ends * 100_000 if closed else b"")
    ((_, code),) = problems(api.post(path, raw=raw))
    assert code == "too_deep"
    assert api.get("/completions").status_code == 200


@pytest.mark.parametrize("levels", [17, 500, 200_000])
def test_deep_metadata_is_refused(api, task, levels):
    raw = wire(task, {"metadata": b'{"a":' * levels + b"1" + b"}" * levels})
    ((pointer, code),) = problems(api.post(ALONE, raw=raw))
    assert code == "too_deep"
    assert pointer.startswith("/metadata/a") or levels == 200_000
    assert rows() == (0, 0)


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "",
        "application/json; charset=utf-16", "application/problem+json", "text/json",
    ],
)  # fmt: skip
def test_another_content_type_is_refused(api, task, path, content_type):
    assert problems(api.post(path, item(task), content_type=content_type), 415) == []
    assert rows() == (0, 0)


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x"])
def test_a_compressed_body_is_refused_before_it_is_inflated(api, path, coding):
    bomb = b"\x1f\x8b\x08" + b"\x00" * 1000
    assert problems(api.post(path, raw=bomb, content_encoding=coding), 415) == []


@pytest.mark.parametrize("path", [ALONE, BATCH])
def test_a_body_over_the_limit_is_refused_by_its_length(api, task, path):
    for length in (settings.MAX_BODY_BYTES + 1, 10**9, 10**18):
        answer = api.client.post(
            f"/api/v1{path}", b"{}", content_type="application/json", CONTENT_LENGTH=str(length),
            HTTP_AUTHORIZATION=f"Bearer {api.key}",
        )  # fmt: skip
        assert problems(answer, 413) == []
        assert answer["Connection"] == "close"
    assert rows() == (0, 0)


@pytest.mark.parametrize("length", ["-1", "abc", "1e3", "²"])
def test_an_invalid_content_length_is_refused(api, length):
    answer = api.client.post(
        "/api/v1/completions", b"{}", content_type="application/json", CONTENT_LENGTH=length,
        HTTP_AUTHORIZATION=f"Bearer {api.key}",
    )  # fmt: skip
    assert problems(answer) == []


@pytest.mark.parametrize("path", [ALONE, BATCH])
@pytest.mark.parametrize("query", ["?wait=1", "?Partial=true", "?api_key=x", "?task__organization=x"])
def test_an_unknown_query_parameter_is_refused(api, task, path, query):
    ((pointer, code),) = problems(api.post(path + query, item(task)))
    assert (pointer, code) == (query.partition("=")[0], "unknown_parameter")
    assert rows() == (0, 0)


def test_a_refusal_quotes_no_secret_and_no_traceback(api, task):
    answer = api.post(ALONE, item(task, taskId=public("task", task).upper()))
    text = answer.content.decode()
    assert answer.status_code == 400
    assert not any(word in text for word in ("Traceback", "select", "SELECT", "msgspec", api.key))
