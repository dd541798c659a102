"""What people do on pages: logging in and out, the administration. One event each, and no secret in any."""

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import make_password
from django.db import DatabaseError
from django.test import Client

from autotune.access.audit import trail
from autotune.access.models import ApiKey, AuditEvent, Membership, Organization, Role, User
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids
from tests.access.audit.reading import sound
from tests.factories import ApiKeyFactory, OrganizationFactory

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery staple"
LOGIN = "/account/login"


@pytest.fixture
def person():
    user = User.objects.create(email="ada@example.org", password=make_password(PASSWORD))
    role = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=OrganizationFactory(), user=user, role=role)
    return user


@pytest.fixture
def superuser():
    return User.objects.create(email="root@example.org", password="!", is_staff=True, is_superuser=True)


@pytest.fixture
def admin(superuser):
    client = Client(raise_request_exception=False)
    client.force_login(superuser)
    return client


def test_a_login_is_one_event_of_the_persons_organization(client, person, events):
    assert client.post(LOGIN, {"login": person.email, "password": PASSWORD}).status_code == 302
    event = events.only()
    assert (event.action, event.actor, event.user_id) == ("session.login", person.email, person.pk)
    assert (event.outcome, event.status, event.method, event.route) == ("succeeded", 302, "POST", LOGIN)
    assert event.organization_id == Membership.objects.get(user=person).organization_id
    assert sound(event)


def test_a_failed_login_names_a_person_that_exists_and_nothing_else(client, person, events):
    client.post(LOGIN, {"login": person.email, "password": "wrong-wrong-wrong"})
    client.post(LOGIN, {"login": "hunter2-typed-here@example.org", "password": "wrong-wrong-wrong"})
    known_person, unknown_person = events()
    assert (known_person.actor, known_person.object_id) == (person.email, ids.encode("user", person.pk))
    assert (unknown_person.actor, unknown_person.object_id) == ("unknown", "")
    for event in (known_person, unknown_person):
        assert (event.action, event.outcome, event.chain, event.user_id) == (
            "session.login",
            "refused",
            INSTALLATION,
            None,
        )
        assert event.fields is None


def test_a_login_that_cannot_be_recorded_does_not_happen(client, person, events, monkeypatch):
    monkeypatch.setattr(trail, "insert", fail)
    assert client.post(LOGIN, {"login": person.email, "password": PASSWORD}).status_code == 503
    monkeypatch.undo()
    assert client.get("/api/v1/tasks").status_code == 401


def test_a_logout_and_a_switch_are_one_event_each(client, person, events):
    other = OrganizationFactory()
    Membership.objects.create(
        organization=other, user=person, role=Role.objects.get(organization=None, name="reviewer")
    )
    client.force_login(person)
    client.post("/account/organization", {"organization": ids.encode("org", other.pk)})
    client.post("/account/logout")
    switched, out = events()
    assert (switched.action, switched.object_id) == ("session.switch_organization", ids.encode("org", other.pk))
    assert (out.action, out.actor, out.outcome) == ("session.logout", person.email, "succeeded")
    assert sound(switched)
    assert sound(out)


def test_showing_the_login_page_leaves_no_event(client, events):
    client.get(LOGIN)
    client.get("/admin/")
    assert events() == []


def test_a_change_in_the_administration_records_the_object_and_the_changed_fields(admin, superuser, events):
    organization = OrganizationFactory()
    address = f"/admin/access/organization/{organization.pk}/change/"
    page = {"name": "A new name", "suspended": "on"}
    assert admin.post(address, page).status_code == 302
    event = events.only()
    assert Organization.objects.get(pk=organization.pk).name == "A new name"
    assert (event.action, event.actor, event.outcome, event.status) == (
        "admin.update",
        superuser.email,
        "succeeded",
        302,
    )
    assert event.object_id == ids.encode("org", organization.pk)
    assert sorted(event.fields) == ["Name", "Suspended"] or sorted(event.fields) == ["name", "suspended"]
    assert event.chain == organization.pk, "the organization may see what was done to it"
    assert event.route == "/admin/access/organization/:object_id/change/"
    assert sound(event)


def test_a_change_that_is_refused_or_cannot_be_recorded(admin, events, monkeypatch):
    organization = OrganizationFactory(name="As it was")
    address = f"/admin/access/organization/{organization.pk}/change/"
    assert admin.post(address, {"name": ""}).status_code == 200
    assert (events.only().outcome, events.only().status) == ("refused", 200)
    monkeypatch.setattr(trail, "insert", fail)
    assert admin.post(address, {"name": "Changed"}).status_code == 503
    organization.refresh_from_db()
    assert organization.name == "As it was"


def test_looking_at_a_row_in_the_administration_is_an_event_of_its_organization(admin, superuser, events):
    key = ApiKeyFactory()
    admin.get(f"/admin/access/apikey/{key.pk}/change/")
    event = events.only()
    assert (event.action, event.object_id) == ("admin.read", ids.encode("key", key.pk))
    assert (event.chain, event.actor) == (key.organization_id, superuser.email)


def test_an_action_on_selected_rows_records_which_and_how_many(admin, events):
    keys = [ApiKeyFactory(), ApiKeyFactory()]
    chosen = {"action": "revoke", "_selected_action": [str(key.pk) for key in keys], "confirmed": "yes"}
    admin.post("/admin/access/apikey/", chosen)
    event = events.only()
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    assert (event.action, event.objects_count, event.outcome) == ("admin.revoke", 2, "succeeded")


def test_a_confirmation_page_is_recorded_as_a_read(admin, events):
    keys = [ApiKeyFactory(), ApiKeyFactory()]
    chosen = {"action": "revoke", "_selected_action": [str(key.pk) for key in keys]}
    assert admin.post("/admin/access/apikey/", chosen).status_code == 200
    look = events.only()
    assert (look.action, look.outcome, look.objects_count) == ("admin.read", "succeeded", 2)
    assert ApiKey.objects.filter(revoked_at=None).count() == 2
    admin.post("/admin/access/apikey/", chosen | {"confirmed": "yes"})
    assert [event.action for event in events()] == ["admin.read", "admin.revoke"]


def test_the_confirmation_of_a_deletion_is_recorded_as_a_read(admin, events):
    locked = AccessAttempt.objects.create(username="p@example.org", ip_address="127.0.0.1", failures_since_start=5)
    chosen = {"action": "delete_selected", "_selected_action": [str(locked.pk)]}
    assert admin.post("/admin/axes/accessattempt/", chosen).status_code == 200
    assert (events.only().action, events.only().outcome) == ("admin.read", "succeeded")
    admin.post("/admin/axes/accessattempt/", chosen | {"post": "yes"})
    assert not AccessAttempt.objects.exists()
    assert [event.action for event in events()][1] in ("admin.delete_selected", "admin.delete")


def test_viewing_the_overview_is_an_event_and_the_anonymous_home_page_is_none(client, person, events):
    client.get("/")
    assert events() == []
    client.force_login(person)
    client.get("/")
    event = events.only()
    assert (event.action, event.route, event.status, event.actor) == ("home.read", "/", 200, person.email)
    assert event.organization_id == Membership.objects.get(user=person).organization_id


def test_the_administration_shows_the_audit_log_read_only(admin, events, client):
    trail.record(action="keys.read", resource="keys", actor="somebody")
    event = AuditEvent.objects.get()
    assert "somebody" in admin.get("/admin/access/auditevent/").content.decode()
    address = f"/admin/access/auditevent/{event.pk}"
    assert admin.get(f"{address}/change/").status_code == 200
    assert admin.post(f"{address}/change/", {"actor": "nobody"}).status_code == 403
    assert admin.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert admin.get("/admin/access/auditevent/add/").status_code == 403
    admin.post(
        "/admin/access/auditevent/", {"action": "delete_selected", "_selected_action": [str(event.pk)], "post": "yes"}
    )
    event.refresh_from_db()
    assert event.actor == "somebody"


def fail(*_, **__):
    raise DatabaseError("the disk is full")
