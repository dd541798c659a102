"""Errors as callers get them: problem+json with a request id, and never a traceback, a statement of SQL or a secret."""

import logging

import pytest
from django.contrib import admin
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connection
from django.http import Http404, HttpResponse
from django.test import Client
from django.urls import include, path
from psycopg_pool import PoolTimeout

import autotune.urls  # noqa: F401 - registers the converters of the site's routes
from autotune.core import errors
from autotune.core.api import problems
from autotune.core.api.operations import ApiStruct, BodyStruct, OperationView, operation
from autotune.core.errors import FieldError, Invalid

SECRET = "postgres://user:hunter2@db/autotune"
STATEMENT = "select prompt from tasks_completion"


class Said(ApiStruct):
    said_so: str


class Words(BodyStruct):
    words: str = ""


class OpenView(OperationView):
    authentication_classes = ()
    permission_classes = ()


class Good(OpenView):
    """Knows GET and POST."""

    calls = 0

    @operation(summary="Say", answers={200: Said})
    def get(self, request):
        Good.calls += 1
        return Said("so")

    @operation(summary="Say more", body=Words, needs_body=False, answers={201: Said})
    def post(self, request, body):
        return Said(body.words)

    @operation(summary="Say nothing", answers={204: None})
    def delete(self, request):
        return None


class Table(OpenView):
    @operation(summary="A table", answers={200: None}, produces=("text/csv",))
    def get(self, request):
        return HttpResponse("a,b", content_type="text/csv")


def raising(error):
    class Raising(OpenView):
        @operation(summary="Fail", answers={200: Said})
        def get(self, request):
            raise error

    return Raising.as_view()


def broken_page(request):
    raise RuntimeError(f"{SECRET} {STATEMENT}")


def bad_statement(request):
    with connection.cursor() as cursor:
        cursor.execute("select nothing from nowhere_at_all")


class Nonsense(OpenView):
    @operation(summary="Bad SQL", answers={200: Said})
    def get(self, request):
        bad_statement(request)


RAISED = {
    "typed": errors.Conflict("Two at once.", code="name_taken", errors=[FieldError("/a~1b/0", "name_taken", "No.")]),
    "quoted": Invalid.field("/x\ud800", "unknown_field", "there is no \ud800."),
    "missing": Http404("no such thing"),
    "denied": PermissionDenied("because"),
    "away": OperationalError(f"connection to {SECRET} failed"),
    "closed": InterfaceError("the connection is closed"),
    "full": PoolTimeout("couldn't get a connection after 10.00 sec"),
    "unexpected": RuntimeError(f"{SECRET} {STATEMENT}"),
    "integrity": IntegrityError(STATEMENT),
    "database": DatabaseError(STATEMENT),
    "suspicious": SuspiciousOperation(SECRET),
    "recursion": RecursionError("maximum recursion depth exceeded"),
}
urlpatterns = [
    path("api/v1/good", Good.as_view()),
    path("api/v1/table", Table.as_view()),
    path("api/v1/sql", Nonsense.as_view()),
    path("api/v1/broken-page", broken_page),
    path("broken-page", broken_page),
    path("", include("autotune.access.accounts.urls")),
    path("", include("autotune.site.urls")),
    path("admin/", admin.site.urls),
    *(path(f"api/v1/{name}", raising(error)) for name, error in RAISED.items()),
]
handler400 = "autotune.site.failures.bad_request"
handler403 = "autotune.site.failures.forbidden"
handler404 = "autotune.site.failures.not_found"
handler500 = "autotune.site.failures.server_error"


@pytest.fixture(autouse=True)
def _routes(settings):
    settings.ROOT_URLCONF = __name__
    assert settings.DEBUG is False  # the form in which it is served


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


def problem(answer, status, code):
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert set(body) - {"errors"} == {"type", "title", "status", "detail", "code", "requestId"}
    assert (body["status"], body["code"]) == (status, code)
    assert body["requestId"] == answer["X-Request-Id"]
    assert body["type"].endswith(f"#{code}")
    assert body["title"]
    assert body["detail"]
    return body


def test_a_typed_error_has_its_code_and_members(client):
    body = problem(client.get("/api/v1/typed", headers={"X-Request-Id": "mine-1"}), 409, "name_taken")
    assert (body["title"], body["detail"], body["requestId"]) == ("Conflict", "Two at once.", "mine-1")
    assert body["errors"] == [{"pointer": "/a~1b/0", "code": "name_taken", "detail": "No."}]


def test_an_error_without_members_has_none(client):
    assert "errors" not in problem(client.get("/api/v1/denied"), 403, "forbidden")


def test_a_lone_surrogate_that_is_quoted_can_still_be_sent(client):
    body = problem(client.get("/api/v1/quoted"), 400, "invalid_request")
    assert body["errors"] == [{"pointer": "/x?", "code": "unknown_field", "detail": "there is no ?."}]


@pytest.mark.parametrize("path", ["/api/v1/missing", "/api/v1/nowhere", "/api/", "/api/v1/good/", "/api/v1//good"])
def test_an_unknown_path_is_404(client, path):
    body = problem(client.get(path), 404, "not_found")
    assert "no such thing" not in str(body)


@pytest.mark.parametrize("path", ["unexpected", "broken-page", "integrity", "database", "recursion"])
def test_an_unexpected_error_is_a_500_without_details_and_fully_logged(client, caplog, path):
    with caplog.at_level(logging.ERROR):
        answer = client.get(f"/api/v1/{path}")
    body = problem(answer, 500, "internal_error")
    text = answer.content.decode() + str(answer.headers)
    for word in ("hunter2", "select", "tasks_completion", "Traceback", "RuntimeError", "Error at", ".py"):
        assert word not in text
    assert "request id" in body["detail"]
    assert any(record.exc_info for record in caplog.records)


@pytest.mark.django_db
def test_a_fault_in_sql_is_a_500_without_the_statement(client, vendor):
    """SQLite calls even this an OperationalError, which is answered as a database that is away."""
    answer = client.get("/api/v1/sql")
    assert answer.status_code == (500 if vendor == "postgresql" else 503)
    assert "nowhere" not in answer.content.decode()


def test_an_error_of_a_page_is_a_plain_page_without_details(client):
    answer = client.get("/broken-page")
    assert answer.status_code == 500
    assert answer["Content-Type"].startswith("text/html")
    assert answer["X-Request-Id"] in answer.content.decode()
    assert "hunter2" not in answer.content.decode()


@pytest.mark.parametrize("path", ["away", "closed", "full"])
def test_an_unavailable_database_is_a_503_with_retry_after_and_is_logged(client, caplog, path):
    with caplog.at_level(logging.WARNING):
        answer = client.get(f"/api/v1/{path}")
    assert "the database is away" in caplog.text
    body = problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert "hunter2" not in str(body)


def test_a_suspicious_request_is_a_400_without_details(client):
    assert "hunter2" not in str(problem(client.get("/api/v1/suspicious"), 400, "invalid_request"))


def test_head_is_get_without_a_body(client):
    answer = client.head("/api/v1/good")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["Content-Type"] == "application/json"
    assert client.head("/api/v1/nowhere").status_code == 404


def test_options_lists_the_methods_and_calls_nothing(client):
    before = Good.calls
    answer = client.options("/api/v1/good")
    assert (answer.status_code, answer.content) == (204, b"")
    assert set(answer["Allow"].split(", ")) == {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}
    assert "Content-Type" not in answer
    assert Good.calls == before


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "PROPFIND", "CONNECT", "get", "X-Y"])
def test_another_method_is_405_with_allow(client, method):
    answer = client.generic(method, "/api/v1/good")
    if method == "get":  # Django reads a method in any case
        assert answer.status_code == 200
        return
    problem(answer, 405, "method_not_allowed")
    assert "GET" in answer["Allow"]


@pytest.mark.parametrize(
    "accept",
    ["application/xml", "text/html", "*/*;q=0", "*/*; q=0.0", "application/json;q=0", "application/jsonx", "nonsense", ","],
)  # fmt: skip
def test_an_unacceptable_media_type_is_406_as_a_problem(client, accept):
    problem(client.get("/api/v1/good", headers={"Accept": accept}), 406, "not_acceptable")


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/*", "*/*", "", "text/html, */*;q=0.1", "application/json; q=0.5, text/html",
     "application/problem+json", "APPLICATION/JSON"],
)  # fmt: skip
def test_an_acceptable_media_type_is_served(client, accept):
    answer = client.get("/api/v1/good", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.json() == {"saidSo": "so"}


def test_the_media_type_of_an_operation_is_acceptable(client):
    assert client.get("/api/v1/table", headers={"Accept": "text/csv"}).status_code == 200
    problem(client.get("/api/v1/table", headers={"Accept": "application/json"}), 406, "not_acceptable")


def test_an_answer_without_content_has_no_type(client):
    answer = client.delete("/api/v1/good")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Type" not in answer


def test_an_empty_body_counts_as_no_members_where_none_is_needed(client):
    assert client.generic("POST", "/api/v1/good").json() == {"saidSo": ""}
    assert client.post("/api/v1/good", b"{}", content_type="application/json").status_code == 201


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [(b'{"x": 1}', "/x"), (b"[]", ""), (b"null", ""), (b'{"a~/b": 1}', "/a~0~1b"), (b'{"": 1}', "/")],
)
def test_an_operation_without_a_body_takes_none(client, raw, pointer):
    body = problem(client.delete("/api/v1/good", raw, content_type="application/json"), 400, "invalid_request")
    assert (body["errors"][0]["pointer"], body["errors"][0]["code"]) == (pointer, "unknown_field")


@pytest.mark.parametrize(
    ("query", "pointer", "code"),
    [
        ("x=1", "?x", "unknown_parameter"),
        ("=1", "?", "unknown_parameter"),
        ("saidSo=1&saidSo=2", "?saidSo", "unknown_parameter"),
        ("%00=1", "?\x00", "unknown_parameter"),
        ("%ff=1", "?\ufffd", "unknown_parameter"),
        ("api_key=at_live_x", "?api_key", "unknown_parameter"),
    ],
)
def test_an_unknown_parameter_is_named(client, query, pointer, code):
    body = problem(client.get(f"/api/v1/good?{query}"), 400, "invalid_request")
    assert (body["errors"][0]["pointer"], body["errors"][0]["code"]) == (pointer, code)
    assert "at_live_x" not in str(body)


def test_ten_thousand_parameters_are_refused(client):
    problem(client.get("/api/v1/good?" + "&".join(f"p{n}=1" for n in range(10_000))), 400, "invalid_request")


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (Http404(), "not_found"),
        (OperationalError("away"), "unavailable"),
        (PoolTimeout("away"), "unavailable"),
        (errors.Conflict("It changed.", code="changed_meanwhile"), "changed_meanwhile"),
    ],
)
def test_a_block_whose_exceptions_are_converted_raises_the_typed_error(exc, code):
    with pytest.raises(errors.AutotuneError) as raised, problems.converted():
        raise exc
    assert raised.value.code == code
    assert exc in (raised.value, raised.value.__cause__)


@pytest.mark.parametrize("exc", [ZeroDivisionError(), KeyboardInterrupt()])
def test_it_raises_an_unexpected_exception_unchanged(exc):
    with pytest.raises(type(exc)) as raised, problems.converted():
        raise exc
    assert raised.value is exc
