"""Bad input to the operations on tasks: each kind is refused with 400 and a pointer, and nothing is written."""

import json
from uuid import UUID

import pytest

from autotune.core import ids
from tasks.models import Task, TaskVersion
from tests.factories import GraderFactory, TaskFactory, public

GRADER = "grader_01jd0000000000000000000000"


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.fixture
def body(api):
    grader = GraderFactory(organization=api.organization)
    return {"name": "T", "promptTemplate": "{{q}}", "graderId": public("grader", grader)}


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def first_error(answer):
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    error = answer.json()["errors"][0]
    return error["pointer"], error["code"]


WRONG = [
    ({"name": None}, "/name", "wrong_type"),
    ({"name": 1}, "/name", "wrong_type"),
    ({"name": ""}, "/name", "invalid_length"),
    ({"name": " \u3000\t"}, "/name", "invalid_format"),
    ({"name": "x" * 201}, "/name", "invalid_length"),
    ({"description": "x" * 10_001}, "/description", "invalid_length"),
    ({"promptTemplate": ""}, "/promptTemplate", "invalid_length"),
    ({"promptTemplate": ["x"]}, "/promptTemplate", "wrong_type"),
    ({"systemPrompt": True}, "/systemPrompt", "wrong_type"),
    ({"model": 7}, "/model", "wrong_type"),
    ({"model": ""}, "/model", "invalid_length"),
    ({"model": {"name": "m"}}, "/model/provider", "missing_field"),
    ({"model": {"provider": "p", "name": "m", "params": []}}, "/model/params", "wrong_type"),
    ({"model": {"provider": "p", "name": "m", "params": {"n": 2**53}}}, "/model/params/n", "integer_out_of_range"),
    ({"model": {"provider": "p", "name": "m", "key": "k"}}, "/model/key", "unknown_field"),
    ({"aggregation": "average"}, "/aggregation", "invalid_choice"),
    ({"aggregation": 1}, "/aggregation", "wrong_type"),
    ({"retry": []}, "/retry", "wrong_type"),
    ({"retry": {"maxAttempts": 0}}, "/retry/maxAttempts", "out_of_range"),
    ({"retry": {"maxAttempts": 21}}, "/retry/maxAttempts", "out_of_range"),
    ({"retry": {"maxAttempts": "3"}}, "/retry/maxAttempts", "wrong_type"),
    ({"retry": {"maxAttempts": True}}, "/retry/maxAttempts", "wrong_type"),
    ({"retry": {"backoffMs": -1}}, "/retry/backoffMs", "out_of_range"),
    ({"retry": {"backoffMs": 40_000}}, "/retry/backoffMs", "out_of_range"),
    ({"retry": {"maxBackoffMs": 400}}, "/retry/maxBackoffMs", "out_of_range"),
    ({"retry": {"backoffMs": 2, "maxBackoffMs": 1}}, "/retry/maxBackoffMs", "out_of_range"),
    ({"retry": {"jitter": 1}}, "/retry/jitter", "unknown_field"),
    ({"deadlineMs": 999}, "/deadlineMs", "out_of_range"),
    ({"deadlineMs": 30 * 86_400_000 + 1}, "/deadlineMs", "out_of_range"),
    ({"deadlineMs": 1e9}, "/deadlineMs", "wrong_type"),
    ({"deadlineMs": False}, "/deadlineMs", "wrong_type"),
    ({"options": {"includeDimensions": 1}}, "/options/includeDimensions", "wrong_type"),
    ({"options": {"includeReasoning": True}}, "/options/includeReasoning", "unknown_field"),
    ({"metadata": "x"}, "/metadata", "wrong_type"),
    ({"metadata": {"n": -(2**53)}}, "/metadata/n", "integer_out_of_range"),
    ({"metadata": {"t": "x" * 65_536}}, "/metadata", "too_long"),
    ({"responseSchema": True}, "/responseSchema", "wrong_type"),
    ({"responseSchema": {"type": "text"}}, "/responseSchema/type", "invalid_schema"),
    ({"responseSchema": {"$ref": "http://x.example/s"}}, "/responseSchema/$ref", "remote_reference"),
    ({"rubric": {}}, "/rubric", "unknown_field"),
    ({"review": {"belowConfidence": 1.01}}, "/review/belowConfidence", "out_of_range"),
    ({"review": {"belowConfidence": -0.01}}, "/review/belowConfidence", "out_of_range"),
    ({"review": {"belowConfidence": "0.5"}}, "/review/belowConfidence", "wrong_type"),
    ({"review": {"belowConfidence": True}}, "/review/belowConfidence", "wrong_type"),
    ({"review": {"below": 0.5}}, "/review/below", "unknown_field"),
    ({"review": 0.5}, "/review", "wrong_type"),
    ({"retention": {"textDays": 0}}, "/retention/textDays", "out_of_range"),
    ({"retention": {"textDays": 36_501}}, "/retention/textDays", "out_of_range"),
    ({"retention": {"textDays": 1.5}}, "/retention/textDays", "wrong_type"),
    ({"retention": {"days": 1}}, "/retention/days", "unknown_field"),
    ({"shareText": "yes"}, "/shareText", "wrong_type"),
    ({"useCalibration": 1}, "/useCalibration", "wrong_type"),
    ({"organization": "org_x"}, "/organization", "unknown_field"),
    ({"id": "x"}, "/id", "unknown_field"),
    ({"createdAt": "2026-01-01"}, "/createdAt", "unknown_field"),
    ({"prompt_template": "x"}, "/prompt_template", "unknown_field"),
    ({"graderId": 1}, "/graderId", "malformed_id"),
    ({"graderId": "1 OR 1=1"}, "/graderId", "malformed_id"),
    ({"graderId": "task_01jd0000000000000000000000"}, "/graderId", "malformed_id"),
    ({"graderId": GRADER.upper()}, "/graderId", "malformed_id"),
    ({"graderId": "{0190163d-8694-739b-aea5-966c26f8ad91}"}, "/graderId", "malformed_id"),
]


@pytest.mark.parametrize(("change", "pointer", "code"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_member_is_named(api, body, task, change, pointer, code):
    assert first_error(api.post("/tasks", body | change)) == (pointer, code)
    assert first_error(api.patch(f"/tasks/{task.public_id}", change)) == (pointer, code)
    assert (Task.objects.count(), TaskVersion.objects.count()) == (1, 1)


ENTRY = {"graderId": GRADER}
OTHER = {"graderId": "grader_01jd0000000000000000000001"}


@pytest.mark.parametrize(
    ("graders", "pointer", "code"),
    [
        ([], "/graders", "invalid_length"),
        ({}, "/graders", "wrong_type"),
        ([None], "/graders/0", "wrong_type"),
        ([GRADER], "/graders/0", "wrong_type"),
        ([{}], "/graders/0/graderId", "missing_field"),
        ([ENTRY, OTHER, ENTRY], "/graders/2/graderId", "duplicate"),
        ([ENTRY | {"part": "shadow"}], "/graders", "no_scoring_grader"),
        ([ENTRY | {"weight": 0}, OTHER | {"part": "shadow"}], "/graders", "no_weight"),
        ([ENTRY | {"weight": 1.0000001}], "/graders/0/weight", "out_of_range"),
        ([ENTRY | {"weight": -0.1}], "/graders/0/weight", "out_of_range"),
        ([ENTRY | {"weight": "1"}], "/graders/0/weight", "wrong_type"),
        ([ENTRY | {"weight": True}], "/graders/0/weight", "wrong_type"),
        ([ENTRY | {"part": "judge"}], "/graders/0/part", "invalid_choice"),
        ([ENTRY | {"owner": "me"}], "/graders/0/owner", "unknown_field"),
        ([{"graderId": ids.encode("grader", UUID(int=number))} for number in range(33)], "/graders", "invalid_length"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_panel_is_named(api, body, task, graders, pointer, code):
    del body["graderId"]
    assert first_error(api.post("/tasks", body | {"graders": graders})) == (pointer, code)
    assert first_error(api.patch(f"/tasks/{task.public_id}", {"graders": graders})) == (pointer, code)
    assert (Task.objects.count(), TaskVersion.objects.count()) == (1, 1)


def test_a_panel_is_sent_in_exactly_one_form(api, body, task):
    both = {"graderId": body["graderId"], "graders": [{"graderId": body["graderId"]}]}
    assert first_error(api.post("/tasks", body | both)) == ("/graderId", "mutually_exclusive")
    assert first_error(api.patch(f"/tasks/{task.public_id}", both)) == ("/graderId", "mutually_exclusive")
    assert first_error(api.post("/tasks", body | {"graderId": None})) == ("/graderId", "missing_field")


@pytest.mark.parametrize("member", ["name", "promptTemplate", "graderId", "graders", "archived"])
def test_members_that_cannot_be_cleared_refuse_null(api, task, member):
    code = "malformed_id" if member == "graderId" else "wrong_type"
    assert first_error(api.patch(f"/tasks/{task.public_id}", {member: None})) == (f"/{member}", code)


def test_archived_is_not_accepted_for_a_new_task(api, body):
    assert first_error(api.post("/tasks", body | {"archived": False})) == ("/archived", "unknown_field")


@pytest.mark.parametrize("member", ["name", "promptTemplate"])
def test_a_missing_required_member_is_named(api, body, member):
    del body[member]
    assert first_error(api.post("/tasks", body)) == (f"/{member}", "missing_field")


RAW = [
    (b'"name": "a\\u0000b"', "/name", "invalid_text"),
    (b'"name": "\\ud800"', "/name", "invalid_text"),
    (b'"systemPrompt": "\\udc00x"', "/systemPrompt", "invalid_text"),
    (b'"metadata": {"a\\u0000": 1}', None, "invalid_text"),
    (b'"name": "\xed\xa0\x80"', "", "invalid_json"),
    (b'"name": "\xff"', "", "invalid_json"),
    (b'"deadlineMs": NaN', "/deadlineMs", "invalid_json"),
    (b'"metadata": {"x": [Infinity]}', "/metadata/x/0", "invalid_json"),
    (b'"metadata": {"x": 1e999}', "/metadata/x", "number_not_finite"),
    (b'"graders": [{"graderId": "g", "weight": 1e999}]', "/graders/0/weight", "number_not_finite"),
    (b'"metadata": {"x": 1, "x": 2}', "/metadata/x", "duplicate_key"),
    (b'"name": "a", "name": "b"', "/name", "duplicate_key"),
    (b'"metadata": ' + b'{"a":' * 17 + b"1" + b"}" * 17, None, "too_deep"),
    (b'"responseSchema": ' + b'{"not":' * 33 + b"{}" + b"}" * 33, None, "too_deep"),
    (b'"model": {"provider": "p", "name": "m", "params": ' + b'{"a":' * 17 + b"1" + b"}" * 18, None, "too_deep"),
    (b'"metadata": ' + b"[" * 200_000 + b"]" * 200_000, "", "too_deep"),
    (b'"name": "x"} {', "", "invalid_json"),
]


@pytest.mark.parametrize(("members", "pointer", "code"), RAW, ids=lambda value: str(value)[:40])
def test_text_that_is_not_acceptable_json_is_refused(api, task, members, pointer, code):
    needed = (
        b""
        if b'"name": ' in members[:10] or b'"graders"' in members
        else b'"name": "T", "graderId": "%s", ' % GRADER.encode()
    )
    for call, path, start in (
        (api.post, "/tasks", b'"promptTemplate": "x", ' + needed),
        (api.patch, f"/tasks/{task.public_id}", b""),
    ):
        error_pointer, error_code = first_error(call(path, raw=b"{" + start + members + b"}"))
        assert error_code == code
        assert pointer is None or error_pointer == pointer
    assert Task.objects.count() == 1


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b'"x"', b"1", b"{", b"\xef\xbb\xbf{}", "{}".encode("utf-16")])
def test_a_body_that_is_no_object_is_refused(api, task, raw):
    assert api.post("/tasks", raw=raw).status_code == 400
    assert api.patch(f"/tasks/{task.public_id}", raw=raw).status_code == 400


def test_another_content_type_is_415(api, body):
    assert api.post("/tasks", body, content_type="text/plain").status_code == 415
    assert api.post("/tasks", body, content_type="application/json; charset=utf-16").status_code == 415


@pytest.mark.parametrize(
    ("query", "pointer", "code"),
    [
        ("owner__password__startswith=p", "?owner__password__startswith", "unknown_parameter"),
        ("Archived=true", "?Archived", "unknown_parameter"),
        ("archived=maybe", "?archived", "wrong_type"),
        ("graderId=x", "?graderId", "malformed_id"),
        ("graderId=", "?graderId", "malformed_id"),
        ("search=a%00", "?search", "invalid_text"),
        ("search=a&search=b", "?search", "repeated_parameter"),
        ("search=" + "x" * 201, "?search", "invalid_length"),
        ("limit=0", "?limit", "out_of_range"),
        ("limit=1001", "?limit", "out_of_range"),
        ("limit=ten", "?limit", "wrong_type"),
        ("offset=-1", "?offset", "out_of_range"),
        ("offset=100001", "?offset", "out_of_range"),
        ("sort=metadata", "?sort", "invalid_choice"),
        ("sort=--name", "?sort", "invalid_choice"),
        ("cursor=x", "?cursor", "invalid_cursor"),
    ],
)
def test_a_wrong_parameter_of_the_list_is_named(api, query, pointer, code):
    assert first_error(api.get(f"/tasks?{query}")) == (pointer, code)


def test_the_other_operations_take_no_parameters(api, task, body):
    assert first_error(api.post("/tasks?dryRun=1", body)) == ("?dryRun", "unknown_parameter")
    assert first_error(api.patch(f"/tasks/{task.public_id}?x=1", {})) == ("?x", "unknown_parameter")
    assert first_error(api.get(f"/tasks/{task.public_id}/versions?window=1")) == ("?window", "unknown_parameter")
    assert first_error(api.delete(f"/tasks/{task.public_id}?force=true")) == ("?force", "unknown_parameter")
    assert first_error(api.delete(f"/tasks/{task.public_id}", body={"archive": True})) == ("/archive", "unknown_field")


@pytest.mark.parametrize(
    "bad", ["task_x", "task_01JD0000000000000000000000", "grader_01jd0000000000000000000000", "1", "%00"]
)
def test_a_malformed_id_on_a_path_is_404(api, bad):
    for answer in (api.patch(f"/tasks/{bad}", {}), api.delete(f"/tasks/{bad}"), api.get(f"/tasks/{bad}/versions")):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_hostile_name_is_stored_as_text(api, body):
    for name in (
        "<script>alert(1)</script>",
        "{{7*7}}",
        "=1+1",
        "\u202eevil",
        "'; DROP TABLE tasks_task; --",
        "../../x",
    ):
        answer = api.post("/tasks", json.loads(json.dumps(body | {"name": name})))
        assert answer.json()["task"]["name"] == name
