"""Find in the audit log who changed what: changes first, names, parts of addresses, and the history of one object."""

import re
from uuid import uuid4

import pytest

from autotune.access.audit import trail
from autotune.access.models import Membership, Role
from autotune.core import ids
from tests.factories import (
    ApiKeyFactory,
    GraderFactory,
    OrganizationFactory,
    TaskFactory,
    UserFactory,
    public,
)

pytestmark = pytest.mark.django_db
LIST = "/settings/audit"


def happened(organization, action="tasks.create", **more):
    return trail.record(action=action, resource=action.partition(".")[0], organization=organization, **more)


def joined(organization, **more):
    person = UserFactory(**more)
    Membership.objects.create(organization=organization, user=person, role=Role.objects.get(name="reviewer"))
    return person


def body_of(client, **query):
    answer = client.get(LIST, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_shows_changes_until_views_are_asked_for(visitor):
    client = visitor()
    happened(client.organization, "tasks.read", object_id="task_viewed")
    happened(client.organization, "tasks.update", object_id="task_changed")
    for kind, texts in (
        ({}, (False, True)),
        ({"kind": "changes"}, (False, True)),
        ({"kind": "views"}, (True, False)),
        ({"kind": "all"}, (True, True)),
    ):
        body = body_of(client, **kind)
        assert ("task_viewed" in body, "task_changed" in body) == texts, kind


def test_the_switch_to_views_keeps_the_other_filters(visitor):
    client = visitor()
    assert "?resource=tasks&amp;kind=views" in body_of(client, resource="tasks")


@pytest.mark.parametrize("kind", ["changes", "all"])
def test_a_person_is_found_by_part_of_the_name_or_of_the_address(visitor, kind):
    client = visitor()
    mara = joined(client.organization, email="m.lindqvist@example.org", name="Mara Oberg")
    happened(client.organization, user=mara, object_id="task_hers")
    happened(client.organization, actor="retention", object_id="task_swept")
    for part in ("mara", "OBERG", "Lindq", "m.lindqvist@example.org"):
        body = body_of(client, person=part, kind=kind)
        assert ("task_hers" in body, "task_swept" in body) == (True, False), part
    assert "task_swept" in body_of(client, person="reten", kind=kind)
    assert "No event matches" in body_of(client, person="100%_'", kind=kind)


def test_events_of_a_deleted_person_are_found_by_their_address(visitor):
    client = visitor()
    happened(client.organization, actor="gone@example.org", object_id="task_theirs")
    assert "task_theirs" in body_of(client, person="gone@")


def test_a_search_by_name_reveals_no_person_of_another_organization(visitor):
    client = visitor()
    stranger = joined(OrganizationFactory(), name="Zenobia Strange")
    happened(client.organization, user=stranger, object_id="task_elsewhere")
    assert "task_elsewhere" not in body_of(client, person="Zenobia")


def test_objects_are_named_and_linked_if_the_reader_may_open_them(visitor):
    client = visitor()
    grader = GraderFactory(organization=client.organization, name="Unit tests <b>of</b> code")
    task = TaskFactory(organization=client.organization, name="Sort a list")
    key = ApiKeyFactory(organization=client.organization, name="nightly run")
    theirs = TaskFactory(organization=OrganizationFactory(), name="A stranger's task")
    for kind, row in (("grader", grader), ("task", task), ("key", key), ("task", theirs)):
        happened(client.organization, "tasks.update", object_id=public(kind, row))
    deleted_id = ids.encode("task", uuid4())
    happened(client.organization, "tasks.delete", object_id=deleted_id)
    body = body_of(client)
    for text in ("Unit tests &lt;b&gt;of", "Sort a list", "nightly run", f'href="/tasks/{public("task", task)}"'):
        assert text in body
    assert ("stranger" in body, f'href="/tasks/{public("task", theirs)}"' in body) == (False, False)
    assert f'href="/tasks/{deleted_id}"' not in body
    assert deleted_id[:12] in body


def test_a_damaged_object_id_is_shown_as_text(visitor):
    client = visitor()
    event = happened(client.organization, object_id="task_<b>&'")
    assert "<b>&" not in body_of(client)
    assert client.get(f"{LIST}/{event.public_id}").status_code == 200


def test_the_page_of_a_grader_links_to_who_rotated_its_secret(visitor):
    client = visitor()
    grader = GraderFactory(organization=client.organization)
    other = GraderFactory(organization=client.organization)
    rotation = {"route": "/graders/:grader_id/rotate", "method": "POST"}
    for row, actor in ((grader, "mara@example.org"), (other, "jon@example.org")):
        event = happened(client.organization, "endpoint_graders.read", actor=actor, object_id=public("grader", row))
        event.pk, event.action = ids.new(), "endpoint_graders.update"
        event.route, event.method = rotation["route"], rotation["method"]
        trail.required(event)
    page = client.get(f"/graders/{public('grader', grader)}").content.decode()
    link = re.search(r'href="(/settings/audit\?objectId=[^"]+)"', page).group(1)
    body = client.get(link).content.decode()
    assert "rotated the secret of a grader" in body
    assert ("mara@example.org" in body, "jon@example.org" in body) == (True, False)


def test_a_role_without_the_audit_log_gets_no_link_to_it(visitor):
    client = visitor("grader_owner")
    grader = GraderFactory(organization=client.organization)
    assert "/settings/audit?objectId" not in client.get(f"/graders/{public('grader', grader)}").content.decode()


def test_only_resources_that_have_events_are_offered(visitor):
    body = body_of(visitor())
    offered = re.findall(r'<option value="(\w+)"', body[body.index('id="resource"') : body.index('id="action"')])
    assert {"tasks", "endpoint_graders", "session"} <= set(offered)
    assert not {"evaluations", "reasoning", "shared_completions"} & set(offered)
