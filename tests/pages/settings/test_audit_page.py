"""The viewer of the audit trail."""

import pytest

from autotune.access.audit import sealing, trail
from autotune.access.audit.reading import sentences
from autotune.access.models import AuditEvent
from tests.factories import OrganizationFactory, TaskFactory, UserFactory, public

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
LIST = "/settings/audit"


def happened(organization, action="tasks.create", **more):
    return trail.record(action=action, resource=action.partition(".")[0], organization=organization, **more)


def test_events_are_described_in_words(visitor):
    client = visitor()
    happened(client.organization, "keys.create", actor="mara@example.org", object_id="key_01m8hebhzaecytx6hnkq3pvx3y")
    happened(client.organization, "completions.erase", actor="retention", objects_count=312)
    happened(client.organization, "session.login", actor="jon@example.org")
    body = client.get(LIST).content.decode()
    for text in ("created an API key", "erased the text of 312 completions", "logged in"):
        assert text in body


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("refused", "tried, and was refused: created a task"),
        ("failed", "tried, and it failed: created a task"),
        ("interrupted", "started, and was interrupted: created a task"),
        ("open", "in progress: created a task"),
    ],
)
def test_refused_attempts_are_described_as_attempts(outcome, sentence):
    event = AuditEvent(action="tasks.create", resource="tasks", object_id="task_x", outcome=outcome)
    assert sentences.describe(event) == sentence


def test_the_filters_are_those_of_the_api_in_the_query_string(visitor):
    client = visitor()
    happened(client.organization, "tasks.create", actor="a@example.org", object_id="task_first")
    happened(client.organization, "roles.delete", actor="b@example.org", object_id="role_second", outcome="refused")
    for query, first, second in (
        ({"actor": "a@example.org"}, True, False),
        ({"resource": "roles"}, False, True),
        ({"action": "roles.delete"}, False, True),
        ({"outcome": "refused"}, False, True),
        ({"endDate": "2020-01-01"}, False, False),
        ({"startDate": "2020-01-01"}, True, True),
    ):
        body = client.get(LIST, query).content.decode()
        assert ("task_first" in body, "role_second" in body) == (first, second), query


def test_the_export_has_the_same_filters(visitor):
    client = visitor()
    happened(client.organization, "tasks.create", actor="a@example.org")
    body = client.get(LIST, {"actor": "a@example.org", "resource": "tasks"}).content.decode()
    link = "/api/v1/audit-events/export?actor=a%40example.org&amp;resource=tasks&amp;kind=changes&amp;format=csv"
    assert link in body
    exported = b"".join(client.get(link.replace("&amp;", "&")).streaming_content).decode()
    assert exported.count("\n") == 2


@pytest.mark.parametrize(
    "query", [{"startDate": "yesterday"}, {"outcome": "odd"}, {"offset": "-1"}, {"offset": "999999"}]
)
def test_an_invalid_filter_is_reported(visitor, query):
    client = visitor()
    happened(client.organization, actor="shown@example.org")
    answer = client.get(LIST, query)
    assert answer.status_code == 400
    assert "shown@example.org" in answer.content.decode()


def test_nobody_sees_events_of_another_organization(visitor):
    client = visitor()
    event = happened(OrganizationFactory(), actor="theirs@example.org")
    nobodys = happened(None, actor="nobody@example.org")
    body = client.get(LIST).content.decode()
    assert ("theirs@example.org" in body, "nobody@example.org" in body) == (False, False)
    for hidden in (event, nobodys):
        assert client.get(f"{LIST}/{hidden.public_id}").status_code == 404


def test_operators_see_the_organization_of_an_event(visitor, operating):
    happened(OrganizationFactory(name="Northwind"), actor="theirs@example.org")
    happened(None, actor="nobody@example.org")
    body = visitor("admin", operating).get(LIST).content.decode()
    assert ("Northwind" in body, "the installation" in body) == (True, True)


def test_an_event_shows_all_its_fields_and_links_to_its_object(visitor):
    client = visitor()
    task = TaskFactory(organization=client.organization)
    user = UserFactory(email="mara@example.org")
    event = happened(
        client.organization, "roles.update", user=user, object_id=public("task", task), fields=["name", "permissions"]
    )
    body = client.get(f"{LIST}/{event.public_id}").content.decode()
    for text in ("mara@example.org", "roles.update", "permissions", public("user", user), event.public_id):
        assert text in body


def test_the_page_shows_how_far_the_chain_is_sealed(visitor):
    client = visitor()
    assert "No event is sealed yet" in client.get(LIST).content.decode()
    event = happened(client.organization)
    while sealing.seal().count:
        pass
    body = client.get(LIST).content.decode()
    assert "Sealed up to number" in body
    assert "manage.py audit verify --organization" in body
    event.refresh_from_db()
    assert f"Number <strong>{event.number}</strong>" in client.get(f"{LIST}/{event.public_id}").content.decode()


def test_hostile_actors_are_text(visitor):
    client = visitor()
    event = happened(client.organization, actor=HOSTILE)
    for path in (LIST, f"{LIST}/{event.public_id}"):
        assert "<script>alert" not in client.get(path).content.decode()


def test_many_events_take_few_queries(visitor, operating, django_assert_max_num_queries):
    client = visitor("admin", operating)
    for _ in range(30):
        happened(OrganizationFactory())
    with django_assert_max_num_queries(20):
        assert ">Next<" in client.get(LIST).content.decode()
