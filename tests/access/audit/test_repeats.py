"""A part of a page that refreshes itself is one view, and writes one event."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import DatabaseError
from django.test import Client

from autotune.access.audit import refreshes
from autotune.access.models import Membership, Role, User
from autotune.core import ids
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true", "HX-Target": "board"}
PAGE = "/search?q=grader"


@pytest.fixture
def person():
    cache.clear()
    user = User.objects.create(email="ada@example.org", password="!")
    role = Role.objects.get(organization=None, name="organization_admin")
    for _ in range(2):
        Membership.objects.create(organization=OrganizationFactory(), user=user, role=role)
    return user


@pytest.fixture
def client(person):
    return session_of(person)


def session_of(person):
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def test_a_refreshing_part_is_recorded_once(client, events):
    for _ in range(5):
        assert client.get(PAGE, headers=PART).status_code == 200
    assert (events.only().action, events.only().route) == ("search.read", "/search")


def test_another_path_or_query_is_another_event(client, events):
    for path in ("/search?q=one", "/search?q=two", "/search?q=one", "/account", "/account"):
        client.get(path, headers=PART)
    assert len(events()) == 3


def test_another_session_of_the_same_person_is_recorded(client, person, events):
    client.get(PAGE, headers=PART)
    session_of(person).get(PAGE, headers=PART)
    assert len(events()) == 2


def test_the_same_read_in_another_organization_is_recorded_there(client, person, events):
    client.get(PAGE, headers=PART)
    other = Membership.objects.filter(user=person).order_by("-pk").first().organization
    client.post("/account/organization", {"organization": ids.encode("org", other.pk)})
    client.get(PAGE, headers=PART)
    looks = events(action="search.read")
    assert len(looks) == 2
    assert looks[1].organization_id == other.pk


def test_it_is_recorded_again_after_ten_minutes(client, events, monkeypatch):
    assert timedelta(minutes=10) == refreshes.REMEMBERED
    monkeypatch.setattr(refreshes, "REMEMBERED", timedelta(0))
    for _ in range(2):
        client.get(PAGE, headers=PART)
    assert len(events()) == 2


def test_a_whole_page_is_recorded_each_time(client, events):
    for _ in range(2):
        client.get(PAGE)
        client.get(PAGE, headers={"HX-Request": "yes"})
    assert len(events()) == 4


def test_changes_refusals_and_api_calls_are_recorded_each_time(client, events):
    for _ in range(2):
        client.post("/account/name", {"name": "Ada"}, headers=PART)
        client.post("/search", headers=PART)
        client.get("/api/v1/tasks", headers=PART)
        client.get("/api/v1/tasks/" + ids.encode("task", ids.new()), headers=PART)
    assert len(events()) == 8


def test_every_read_is_recorded_while_the_cache_is_unavailable(client, events, monkeypatch):
    def away(*_, **__):
        raise DatabaseError("the cache is away")

    monkeypatch.setattr(cache, "get", away)
    monkeypatch.setattr(cache, "set", away)
    for _ in range(2):
        assert client.get(PAGE, headers=PART).status_code == 200
    assert len(events()) == 2


def test_the_cache_reveals_no_session(client, person):
    client.get(PAGE, headers=PART)
    call = type("Call", (), {"organization_id": None, "request": type("Request", (), {})()})()
    call.request.COOKIES = {"sessionid": "a-secret"}
    call.request.get_full_path = lambda: PAGE
    assert "a-secret" not in refreshes._key(call)
