"""Reading the audit log: in scope, by filters, page by page, and as a file."""

import csv
import io
import json

import pytest

from autotune.access.audit import export, sealing, trail
from autotune.access.models import AuditEvent
from autotune.core import ids
from tests.factories import TaskFactory, public

pytestmark = pytest.mark.django_db
PATH = "/audit-events"


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


def body(response):
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_an_organization_sees_its_own_events_and_no_others(api, api_for, admin_api):
    task = TaskFactory(organization=api.organization)
    api.get(f"/tasks/{public('task', task)}")
    stranger = api_for(role="organization_admin")
    stranger.get("/tasks")
    api_for().client.get("/api/v1/tasks")  # of nobody
    (mine,) = api.get(PATH).json()["auditEvents"]
    assert (mine["action"], mine["objectId"], mine["actor"]) == ("tasks.read", public("task", task), api.user.email)
    assert mine["organizationId"] == ids.encode("org", api.organization.pk)
    everything = admin_api.get(PATH).json()["auditEvents"]
    assert {event["organizationId"] for event in everything} >= {mine["organizationId"], None}
    theirs = AuditEvent.objects.filter(organization=stranger.organization).first()
    assert api.get(f"{PATH}/{theirs.public_id}").status_code == 404
    assert admin_api.get(f"{PATH}/{theirs.public_id}").status_code == 200


@pytest.mark.parametrize("role", ["training_operator", "grader_owner", "reviewer"])
def test_other_roles_may_not(api_for, role):
    stranger = api_for(role=role)
    assert [stranger.get(path).status_code for path in (PATH, f"{PATH}/export")] == [403, 403]


def test_reading_the_audit_log_is_an_event_too(api):
    api.get(PATH)
    (event,) = api.get(PATH).json()["auditEvents"]
    assert (event["action"], event["route"], event["status"]) == ("audit.read", "/api/v1/audit-events", 200)


def test_each_filter_selects_its_events(api):
    api.get("/tasks")
    api.get("/webhooks")
    api.get("/tasks?colour=red")

    def actions(query):
        return [event["action"] for event in api.get(f"{PATH}?{query}").json()["auditEvents"]]

    assert actions("action=webhooks.read") == ["webhooks.read"]
    assert actions("resource=tasks") == ["tasks.read", "tasks.read"]
    assert actions("outcome=refused") == ["tasks.read"]
    assert actions(f"resource=tasks&actor={ids.encode('key', api.api_key.pk)}") == ["tasks.read"] * 2
    assert actions(f"resource=tasks&actor={ids.encode('user', api.user.pk)}") == ["tasks.read"] * 2
    assert actions(f"resource=tasks&actor={api.user.email}") == ["tasks.read"] * 2
    assert actions("actor=somebody") == []
    assert actions("resource=tasks&startDate=2000-01-01&endDate=9999-12-30") == ["tasks.read"] * 2
    assert actions("startDate=9999-01-01") == []
    assert actions("endDate=0001-01-01") == []
    for query in ("outcome=good", "startDate=yesterday", "sort=actor"):
        assert api.get(f"{PATH}?{query}").status_code == 400


def test_pages_follow_by_cursor_without_a_total(api):
    for _ in range(5):
        api.get("/tasks")
    seen, cursor = [], ""
    for _ in range(3):
        page = api.get(f"{PATH}?resource=tasks&limit=2{cursor}").json()
        seen += [event["id"] for event in page["auditEvents"]]
        assert page["pagination"]["total"] is None
        cursor = f"&cursor={page['pagination']['nextCursor']}"
    assert page["pagination"]["nextCursor"] is None
    assert len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)


def test_a_list_costs_the_same_queries_for_any_number(api, django_assert_max_num_queries):
    for _ in range(30):
        trail.record(action="keys.read", resource="keys", organization=api.organization)
    with django_assert_max_num_queries(5):  # the key and its use, the page; of its event the chain's key and the row
        assert len(api.get(PATH).json()["auditEvents"]) == 30


def test_the_export_holds_all_in_order_with_number_and_digest_of_the_sealed(api, monkeypatch):
    monkeypatch.setattr(export, "RANGE", 2)
    for _ in range(5):
        api.get("/tasks")
    sealing.seal()
    answer = api.get(f"{PATH}/export?resource=tasks")
    rows = [json.loads(line) for line in body(answer).splitlines()]
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert all(len(row["digest"]) == 64 for row in rows)
    assert answer["Content-Type"] == "application/x-ndjson"
    assert "audit-" in answer["Content-Disposition"]


def test_csv_prefixes_formulas_with_an_apostrophe(api):
    trail.record(
        action="keys.read",
        resource="keys",
        organization=api.organization,
        actor='=HYPERLINK("http://x")',
        fields=["a", "b"],
    )
    rows = list(csv.DictReader(io.StringIO(body(api.get(f"{PATH}/export?format=csv")).decode())))
    assert (rows[0]["actor"], rows[0]["fields"]) == ('\'=HYPERLINK("http://x")', "a b")
    assert list(rows[0])[:2] == ["id", "at"]


def test_head_of_an_export_and_a_wrong_format(api):
    assert api.call("HEAD", f"{PATH}/export?format=csv")["Content-Type"].startswith("text/csv")
    assert api.get(f"{PATH}/export?format=xml").status_code == 400


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_no_call_changes_an_event(admin_api, method):
    admin_api.get("/tasks")
    event = AuditEvent.objects.first()
    assert admin_api.call(method, f"{PATH}/{event.public_id}", {}).status_code == 405
    assert AuditEvent.objects.filter(pk=event.pk).exists()
