"""The account page: who I am, where I act, and where I am logged in."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.models import Membership, Role, WebSession
from autotune.core import ids
from tests.access.accounts.people import browser, is_in, logged_in, person
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def member(user, name, role="task_consumer", **fields):
    role = Role.objects.filter(organization=None, name=role).first() or Role.objects.filter(organization=None).first()
    organization = OrganizationFactory(name=name, **fields)
    Membership.objects.create(organization=organization, user=user, role=role)
    return organization


def test_strangers_are_sent_to_the_login():
    for path in ("/account", "/account/password", "/account/second-factor/on", "/account/recovery-codes"):
        assert browser().get(path)["Location"].startswith("/account/login"), path
    for path in ("/account/name", "/account/organization", "/account/sessions"):
        assert browser().post(path)["Location"].startswith("/account/login"), path


def test_the_page_shows_the_person_and_organization_in_few_queries():
    user = person()
    for n in range(20):
        member(user, f"Organization {n:02}")
    client = logged_in(user, User_Agent=FIREFOX)
    with CaptureQueriesContext(connection) as queries:
        html = client.get("/account").content.decode()
    assert len(queries) <= 20
    for text in ("Some One", user.email, "Organization 00", "Organization 19", "Firefox on Linux", "this session"):
        assert text in html, text


def test_hostile_names_are_shown_as_text():
    user = person(name="<script>alert(1)</script>")
    member(user, "<img src=x onerror=alert(1)>")
    html = logged_in(user, User_Agent="<b>x").get("/account").content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_a_person_acts_in_the_organization_that_they_chose():
    user = person()
    first, second = member(user, "First"), member(user, "Second")
    client = logged_in(user)
    answer = client.post("/account/organization", {"organization": ids.encode("org", second.pk)}, follow=True)
    assert "You now act in Second" in answer.content.decode()
    assert client.session["organization"] == ids.encode("org", second.pk)
    assert first.pk != second.pk


def test_nobody_switches_to_a_suspended_organization_or_one_they_do_not_belong_to():
    user = person()
    member(user, "Mine")
    suspended = member(user, "Suspended", suspended=True)
    client = logged_in(user)
    for organization in (OrganizationFactory().pk, suspended.pk):
        answer = client.post("/account/organization", {"organization": ids.encode("org", organization)})
        assert answer.status_code == 404
    for text in ("", "org_x", "\0", "1"):
        assert client.post("/account/organization", {"organization": text}).status_code == 404
    assert "organization" not in client.session


def test_a_person_ends_one_session_or_all_others():
    user = person()
    clients = [logged_in(user) for _ in range(4)]
    mine = clients[0]
    second = WebSession.objects.order_by("created_at")[1]
    assert mine.post("/account/sessions", {"session": second.public_id}).status_code == 302
    assert [is_in(client) for client in clients] == [True, False, True, True]
    mine.post("/account/sessions", {"session": "others"})
    assert [is_in(client) for client in clients] == [True, False, False, False]


def test_nobody_ends_the_session_of_another():
    victim = logged_in(person("victim@example.org"))
    row = WebSession.objects.get()
    client = logged_in(person())
    client.post("/account/sessions", {"session": row.public_id})
    assert is_in(victim)
    for text in ("", "x", "-1", "1" * 40, "²"):
        assert client.post("/account/sessions", {"session": text}).status_code == 404


def test_a_person_changes_their_name_and_nothing_else():
    user = person()
    logged_in(user).post("/account/name", {"name": "  A \0 new\nname ", "email": "x@y.z", "is_staff": "on"})
    user.refresh_from_db()
    assert (user.name, user.email, user.is_staff) == ("A new name", "someone@example.org", False)
