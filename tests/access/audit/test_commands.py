"""`createsuperuser` and `changepassword` leave an event each, and do nothing that cannot be recorded."""

import getpass
import io

import pytest
from django.core.management import call_command
from django.db import DatabaseError

from autotune.access.audit import trail
from autotune.access.models import Membership, Role, User
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids
from autotune.core.errors import Unavailable
from tests.access.accounts.people import PASSWORD, person
from tests.access.audit.reading import everything, sound
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db
FRESH = "another sentence of mine"


def create(monkeypatch, email="root@example.org"):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", FRESH)
    call_command("createsuperuser", email=email, interactive=False, stdout=io.StringIO())


def change(monkeypatch, user):
    monkeypatch.setattr(getpass, "getpass", lambda *_, **__: FRESH)
    call_command("changepassword", user.email, stdout=io.StringIO())


def test_creating_a_superuser_by_command_is_recorded(events, monkeypatch):
    create(monkeypatch)
    event, user = events.only(), User.objects.get()
    assert (event.action, event.actor, event.outcome) == ("people.create", "manage.py createsuperuser", "succeeded")
    assert (event.object_id, event.chain) == (ids.encode("user", user.pk), INSTALLATION)
    assert user.is_superuser
    assert user.check_password(FRESH)
    assert FRESH not in everything(event)
    assert sound(event)


def test_a_password_changed_by_command_is_recorded_in_the_persons_organization(events, monkeypatch):
    user, organization = person(), OrganizationFactory()
    role = Role.objects.get(organization=None, name="reviewer")
    Membership.objects.create(organization=organization, user=user, role=role)
    change(monkeypatch, user)
    event = events.only()
    assert (event.action, event.actor) == ("password.update", "manage.py changepassword")
    assert (event.object_id, event.chain) == (ids.encode("user", user.pk), organization.pk)
    assert FRESH not in everything(event)
    user.refresh_from_db()
    assert user.check_password(FRESH)


def test_a_change_that_cannot_be_recorded_is_not_made(monkeypatch):
    user = person()
    monkeypatch.setattr(trail, "insert", fail)
    with pytest.raises(Unavailable):
        create(monkeypatch)
    with pytest.raises(Unavailable):
        change(monkeypatch, user)
    assert User.objects.get() == user
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_a_command_without_effect_leaves_no_event(events, monkeypatch):
    call_command("createsuperuser", stdin=io.StringIO(), stdout=io.StringIO())  # no terminal to ask on
    assert events() == []
    person().save()
    assert events() == [], "what is saved elsewhere is no command's"


def fail(*_, **__):
    raise DatabaseError("the disk is full")
