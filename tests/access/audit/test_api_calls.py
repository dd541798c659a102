"""Each call of the API leaves one event: who, what, which object, from where, with what outcome."""

import pytest
from django.db import DatabaseError
from django.test import Client

from autotune.access.audit import macs, trail
from autotune.access.models import AuditEvent
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids
from graders.models import GraderCheck
from tasks.api import TasksView
from tasks.models import Completion, Task
from tests.factories import GraderFactory, TaskFactory, public
from tests.scores.submitting import item

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def test_a_submission_is_one_event_in_the_transaction_of_its_work(api, task, events):
    answer = api.post("/completions", item(task, prompt="a secret prompt"), x_request_id="request-1").json()
    event = events.only()
    assert (event.actor, event.user_id, event.key_id) == (api.user.email, api.user.pk, api.api_key.pk)
    assert event.chain == event.organization_id == api.organization.pk
    assert (event.action, event.resource) == ("completions.create", "completions")
    assert (event.method, event.route, event.status, event.outcome) == ("POST", "/api/v1/completions", 202, "succeeded")
    assert (event.address, event.request_id) == ("127.0.0.1", "request-1")
    assert event.object_id == answer["completion"]["id"]
    assert "prompt" in event.fields
    assert "secret" not in " ".join(event.fields)
    assert macs.fits(macs.key_of(event.chain), event)
    assert (event.number, event.digest) == (None, None)


def test_a_batch_records_its_size(api, task, events):
    api.post("/completions/batch", {"completions": [item(task), item(task), item(task)]})
    event = events.only()
    assert (event.action, event.objects_count, event.object_id) == ("completions.create", 3, "")
    assert event.fields == ["completions"]


def test_a_change_that_cannot_be_recorded_is_not_made(api, task, events, monkeypatch):
    monkeypatch.setattr(trail, "insert", fail)
    answer = api.post("/completions", item(task))
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert not Completion.objects.exists()
    assert events() == []


def test_an_outbound_call_that_cannot_be_recorded_is_not_made(api, events, monkeypatch):
    grader = GraderFactory(organization=api.organization, created_by=api.user)
    monkeypatch.setattr(trail, "insert", fail)
    answer = api.post(f"/graders/{public('grader', grader)}/verify")
    assert answer.status_code == 503
    assert not GraderCheck.objects.exists()


def test_a_read_continues_with_an_alarm_and_the_audit_log_reports_the_loss_later(
    api, task, events, monkeypatch, caplog
):
    with monkeypatch.context() as away:
        away.setattr(trail, "insert", fail)
        assert api.get(f"/tasks/{public('task', task)}").status_code == 200
    assert "an event could not be written" in caplog.text
    assert api.get("/tasks").status_code == 200
    lost = events.only(action="audit.lost")
    assert (lost.objects_count, lost.actor, lost.chain) == (1, "system", INSTALLATION)


def test_a_read_names_its_object_and_a_list_how_many(api, task, events):
    api.get(f"/tasks/{public('task', task)}")
    api.get("/tasks")
    read_event, list_event = events()
    assert (read_event.action, read_event.object_id, read_event.route) == (
        "tasks.read",
        public("task", task),
        "/api/v1/tasks/:task_id",
    )
    assert (list_event.action, list_event.objects_count, list_event.object_id, list_event.fields) == (
        "tasks.read",
        1,
        "",
        None,
    )


REFUSED = [
    ("GET", "/tasks/task_00000000000000000000000000", 404, "tasks.read", "not_found", "/api/v1/tasks/:task_id"),
    ("GET", "/nothing/here?token=s3cret", 404, "unknown.read", "not_found", "/api/v1/*"),
    ("PUT", "/tasks", 405, "tasks.update", "method_not_allowed", "/api/v1/tasks"),
    ("POST", "/tasks", 400, "tasks.create", "invalid_request", "/api/v1/tasks"),
    ("GET", "/tasks?colour=red", 400, "tasks.read", "invalid_request", "/api/v1/tasks"),
]


@pytest.mark.parametrize(("method", "path", "status", "action", "code", "route"), REFUSED)
def test_a_refusal_is_one_event_of_the_callers_organization(api, events, method, path, status, action, code, route):
    assert api.call(method, path, {"s3cretName": 1} if method == "POST" else None).status_code == status
    event = events.only()
    assert (event.action, event.status, event.code, event.route) == (action, status, code, route)
    assert event.outcome == "refused"
    assert not event.fields, "names that no body has are whatever somebody sent"
    if status != 404 or "tasks" in path:
        assert event.organization_id == api.organization.pk


def test_a_call_without_a_key_is_anonymous_in_the_chain_of_the_installation(events, client):
    client.get("/api/v1/tasks", HTTP_AUTHORIZATION="Bearer at_live_wrong")
    event = events.only()
    assert (event.actor, event.user_id, event.chain, event.status) == ("anonymous", None, INSTALLATION, 401)
    assert event.code == "unauthenticated"


def test_a_forbidden_call_is_refused(api_for, events):
    api_for(role="reviewer").post("/tasks", {})
    event = events.only()
    assert (event.status, event.action, event.code) == (403, "tasks.create", "forbidden")


def test_a_body_that_is_too_large_is_recorded_with_its_route(api, events):
    api.client.generic("POST", "/api/v1/completions", b"{}", content_type="application/json", CONTENT_LENGTH=str(10**9))
    event = events.only()
    assert (event.status, event.code, event.route) == (413, "body_too_large", "/api/v1/completions")


def test_an_unexpected_error_is_a_failed_event(api, events, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(TasksView, "get", broken)
    assert api.get("/tasks").status_code == 500
    event = events.only()
    assert (event.outcome, event.status) == ("failed", 500)


def test_probes_and_documents_leave_no_event(client, events):
    for name in ("health", "ready", "schema", "docs"):
        client.get(f"/api/v1/{name}")
    client.get("/")
    assert events() == []


def test_a_repeated_request_is_a_separate_event_without_effect(api, task, events):
    for _ in range(2):
        api.post("/completions", item(task), idempotency_key="k-1")
    assert [event.action for event in events()] == ["completions.create"] * 2
    assert Completion.objects.count() == 1


def test_a_refused_request_is_rolled_back_and_its_event_stays(api, task, events):
    body = {"completions": [item(task), item(task, taskId="task_00000000000000000000000000")]}
    assert api.post("/completions/batch", body).status_code == 400
    assert not Completion.objects.exists()
    assert (events.only().outcome, events.only().status) == ("refused", 400)


def test_a_change_names_the_members_that_were_set(api, task, events):
    assert api.patch(f"/tasks/{public('task', task)}", {"name": "Renamed"}).status_code == 200
    event = events.only()
    assert (event.action, event.fields, event.object_id) == ("tasks.update", ["name"], public("task", task))
    assert Task.objects.get().name == "Renamed"


def test_a_session_is_recorded_as_its_person(api, events):
    client = Client()
    client.force_login(api.user)
    assert client.get("/api/v1/tasks").status_code == 200
    event = events.only()
    assert (event.actor, event.key_id, event.organization_id) == (api.user.email, None, api.organization.pk)


def test_a_verification_is_open_while_it_waits_and_closed_after(api, events, monkeypatch):
    seen = []

    def probe(grader):
        seen.append(AuditEvent.objects.get().outcome)
        raise RuntimeError

    monkeypatch.setattr("graders.health.verification.verify", probe)
    grader = GraderFactory(organization=api.organization, created_by=api.user)
    api.post(f"/graders/{ids.encode('grader', grader.pk)}/verify")
    event = events.only()
    assert seen == ["open"]
    assert (event.outcome, event.status, event.action) == ("failed", 500, "endpoint_graders.update")
    assert event.object_id == ids.encode("grader", grader.pk)
    assert macs.fits(macs.key_of(event.chain), event)


def fail(*_, **__):
    raise DatabaseError("the disk is full")
