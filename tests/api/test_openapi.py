"""The OpenAPI document describes the server: the same routes, and responses that match their schemas."""

import json
from copy import deepcopy
from datetime import timedelta

import msgspec
import pytest
from django.core.management import call_command
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from jsonschema import Draft202012Validator

from autotune.core.api.operations import ApiStruct
from autotune.site.status import probes
from scores.models import Pulse
from tests.api.documented import CALLS, FILE, JSON, OPERATIONS, PREFIX, PROBLEM, load
from tests.factories import public

METHODS = ("get", "post", "put", "patch", "delete")
DOCUMENT = load()


def closed(schemas):
    """The schemas, refusing members that they do not name: what is not documented must not be sent either."""
    closed = deepcopy(schemas)
    for schema in closed.values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return closed


COMPONENTS = {"schemas": closed(DOCUMENT["components"]["schemas"])}
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def faults(value, schema):
    whole = {**schema, "components": COMPONENTS}
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(whole).iter_errors(value)]


def check(operation, answer):
    """The answer's status, media type and body are documented."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    described = operation.described["responses"]
    assert str(answer.status_code) in described, body
    content = described[str(answer.status_code)].get("content")
    if content is None:
        assert (body, answer.get("Content-Type")) == (b"", None)
        return
    assert body
    media = answer["Content-Type"].partition(";")[0]
    assert media in content
    if media in (JSON, PROBLEM):
        assert faults(json.loads(body), content[media]["schema"]) == []


# --- the document and the routes ------------------------------------------------------------------------------------


def test_the_file_is_what_the_code_generates(tmp_path):
    """`make openapi` writes it."""
    file = tmp_path / "openapi.json"
    call_command("spectacular", format="openapi-json", file=str(file), validate=True, fail_on_warn=True)
    assert json.loads(file.read_text(encoding="utf-8")) == DOCUMENT, f"run `make openapi` and commit {FILE.name}"


@pytest.mark.django_db
def test_the_server_serves_the_same_document(client):
    assert client.get("/api/v1/schema").json() == DOCUMENT


def routes(patterns, prefix="/"):
    for entry in patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield path, entry
        else:
            yield from routes(entry.url_patterns, path)


def test_the_document_lists_exactly_the_routes():
    routed = set()
    for path, entry in routes(get_resolver().url_patterns):
        if path.startswith(f"{PREFIX}/"):
            named = "".join(f"{{{part.partition(':')[2]}" if ":" in part else part for part in _parts(path))
            view = entry.callback.view_class
            routed |= {(method.upper(), named.removeprefix(PREFIX)) for method in METHODS if hasattr(view, method)}
    assert routed == {(operation.method, operation.path) for operation in OPERATIONS}


def _parts(path):
    """`/a/<task:id>/b` as `/a/`, `task:id`, `}/b`."""
    pieces = path.replace(">", "}").split("<")
    return [pieces[0], *pieces[1:]]


def test_every_shape_that_goes_out_names_all_its_members_as_required():
    """Except members that are absent when they have no value."""
    checked = set()
    pending = ApiStruct.__subclasses__()
    while pending:
        shape = pending.pop()
        pending += shape.__subclasses__()
        schema = DOCUMENT["components"]["schemas"].get(shape.__name__)
        if schema is None:
            continue
        always = {
            member.encode_name
            for member in msgspec.structs.fields(shape)
            if member.default is not msgspec.UNSET and (not shape.__struct_config__.omit_defaults or member.required)
        }
        assert set(schema["required"]) == always, shape
        checked.add(shape.__name__)
    assert {"TaskOut", "CompletionOut", "ScoreOut", "GraderOut", "RedactionOut"} <= checked


def test_every_operation_is_described_and_names_its_parameters():
    assert len({operation.described["operationId"] for operation in OPERATIONS}) == len(OPERATIONS)
    for operation in OPERATIONS:
        assert operation.described["summary"]
        named = {
            parameter["name"] for parameter in operation.described.get("parameters", ()) if parameter["in"] == "path"
        }
        assert named == set(operation.ids)


LATER = [
    "/feedback",
    "/runs",
    "/runs/batch",
    "/evaluate",
    "/reports",
    "/decks",
    "/decks/import",
    "/decks/inbox",
    "/telemetry",
    "/telemetry/otlp/v1/traces",
    "/llm/requests",
    "/llm/batches",
    "/llm/providers",
    "/llm/models",
    "/budgets",
    "/experiments",
    "/usage",
    "/graders/import",
    "/marketplace",
]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", LATER)
def test_planned_paths_are_404(world, path, method):
    answer = world.api.call(method, path)
    assert answer.status_code == 404
    assert answer["Content-Type"] == PROBLEM
    assert PREFIX + path not in DOCUMENT["paths"]


def test_planned_paths_below_an_object_are_404(world):
    grader, task = world.ids["grader_id"], world.ids["task_id"]
    for method, path in (
        ("GET", f"/graders/{grader}/calibration"),
        ("POST", f"/graders/{grader}/versions"),
        ("POST", f"/graders/{grader}/fix"),
        ("POST", f"/tasks/{task}/fix"),
    ):
        assert world.api.call(method, path).status_code in (404, 405), path


def test_a_slash_at_the_end_is_another_address(world):
    for path in ("/tasks/", "/completions/", "/health/", "", "/"):
        assert world.api.get(path).status_code == 404


# --- the answers ----------------------------------------------------------------------------------------------------


def test_there_is_a_valid_request_for_every_operation_and_no_other():
    assert CALLS.keys() == {operation.name for operation in OPERATIONS}


@every_operation
def test_every_documented_response_occurs_and_matches_its_schema(world, operation):
    statuses = set()
    for call in CALLS[operation.name]:
        url, headers = call.url(operation, world), call.headers(world)
        body = call.body(world) if call.body else None
        if operation.has_body and body is not None:
            (described,) = operation.described["requestBody"]["content"].values()
            assert faults(body, described["schema"]) == []
        if call.with_etag:
            headers["if_none_match"] = world.api.call(operation.method, url)["ETag"]
        for _ in range(call.repeat):
            answer = world.api.call(operation.method, url, body, **headers)
            assert answer.status_code < 400, answer.content
            check(operation, answer)
            statuses.add(answer.status_code)
    assert statuses == _successes(operation)


def _successes(operation):
    return {int(status) for status in operation.described["responses"] if int(status) < 400}


@every_operation
def test_a_refusal_matches_the_schema_of_problems(world, operation):
    answer = world.api.call(operation.method, operation.url(world.ids) + "?no-such-parameter=1")
    assert answer.status_code == 400
    assert answer["Content-Type"] == PROBLEM
    check(operation, answer)
    assert answer.json()["errors"][0]["pointer"] == "?no-such-parameter"


@every_operation
def test_an_unacceptable_media_type_is_a_documented_refusal(world, operation):
    answer = world.api.call(operation.method, operation.url(world.ids), accept="application/xml")
    if operation.path in ("/schema", "/docs"):
        assert answer.status_code == 200  # whatever a browser asks for
    else:
        assert answer.status_code == 406
        check(operation, answer)


def test_not_ready_is_a_documented_answer(world, monkeypatch):
    failed = probes.Readiness("failed", [])
    monkeypatch.setattr(probes, "readiness", lambda: failed)
    (operation,) = (operation for operation in OPERATIONS if operation.name == "GET /ready")
    answer = world.api.get("/ready")
    assert answer.status_code == 503
    check(operation, answer)


def test_not_moving_is_a_documented_answer(world):
    Pulse.objects.create(name="sweep", at=timezone.now() - timedelta(hours=1))
    (operation,) = (operation for operation in OPERATIONS if operation.name == "GET /moving")
    answer = world.api.get("/moving")
    assert answer.status_code == 503
    check(operation, answer)


def test_the_schemas_refuse_what_they_should(world):
    """The comparison itself bites: a member too few, one too many, a wrong type."""
    schema = {"$ref": "#/components/schemas/TaskAnswer"}
    right = json.loads(world.api.get(f"/tasks/{public('task', world.task)}").content)
    right = {"task": right["task"]}
    assert faults(right, schema) == []
    assert faults({"task": {**right["task"], "owner": "x"}}, schema)
    assert faults({"task": {**right["task"], "archived": None}}, schema)
    assert faults({"task": {name: value for name, value in right["task"].items() if name != "metadata"}}, schema)


# --- what is shown once ---------------------------------------------------------------------------------------------


def shown_once():
    """(operation, schema of its answer, members of it that are shown once)."""
    for path, entry in routes(get_resolver().url_patterns):
        for method in METHODS if path.startswith(f"{PREFIX}/") else ():
            declared = getattr(getattr(entry.callback.view_class, method, None), "operation", None)
            if declared is not None and declared.secrets:
                (answer,) = (kind for status, kind in declared.answers.items() if status < 300)
                yield f"{method} {path}", COMPONENTS["schemas"][answer.__name__], declared.secrets


@pytest.mark.parametrize(
    ("name", "schema", "members"), [*shown_once()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_secret_may_be_null_because_a_repeated_response_omits_it(name, schema, members):
    for member in members:
        within = schema
        for step in member.split("."):
            within = within["properties"][step]
            options = within.get("anyOf", [within])
            within = next(
                (COMPONENTS["schemas"][option["$ref"].rpartition("/")[2]] for option in options if "$ref" in option),
                within,
            )
        assert faults(None, within) == [], f"{member} of {name}"
