"""What people do to their own account: one event each, before it is final, and no secret in any."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.core import mail
from django.db import DatabaseError
from django.utils import timezone

from autotune.access.audit import trail
from autotune.access.models import Membership, Role, User
from autotune.core import ids
from tests.access.accounts.people import PASSWORD, browser, code_of, confirm, log_in, logged_in, person, set_up
from tests.access.audit.reading import everything, sound
from tests.factories import OrganizationFactory, UserFactory
from tests.support.concurrency import until

pytestmark = pytest.mark.django_db
FRESH = "another sentence of mine"
TOKEN = "t" * 43


@pytest.fixture
def somebody():
    """A person with a place in an organization."""
    user = person()
    role = Role.objects.get(organization=None, name="reviewer")
    Membership.objects.create(organization=OrganizationFactory(), user=user, role=role)
    return user


@pytest.fixture
def client(somebody):
    return logged_in(somebody)


@pytest.fixture
def since(events):
    """`since(act)`: the events that came of it."""

    def run(act):
        before = {event.pk for event in events()}
        act()
        return [event for event in events() if event.pk not in before]

    return run


def change(client):
    return client.post("/account/password", {"oldpassword": PASSWORD, "password1": FRESH, "password2": FRESH})


def is_of(event, user, action):
    assert (event.action, event.outcome, event.actor, event.user_id) == (action, "succeeded", user.email, user.pk)
    assert event.organization_id == Membership.objects.get(user=user).organization_id
    assert event.method == "POST"
    assert sound(event)


def test_a_password_that_is_changed(client, somebody, since):
    (event,) = since(lambda: change(client))
    is_of(event, somebody, "password.update")
    assert PASSWORD not in everything(event)
    assert FRESH not in everything(event)


def test_a_password_that_is_not_changed(client, somebody, since):
    (event,) = since(
        lambda: client.post("/account/password", {"oldpassword": "x", "password1": FRESH, "password2": FRESH})
    )
    assert (event.outcome, event.actor) == ("refused", somebody.email)


def test_a_forgotten_password(somebody, since):
    client = browser()
    (request_event,) = since(lambda: client.post("/account/password/forgotten", {"email": somebody.email}))
    assert request_event.route == "/account/password/forgotten"
    link = re.search(r"/account/password/reset/\S+", until(lambda: mail.outbox)[0].body)[0]
    form = client.get(link)["Location"]
    (event,) = since(lambda: client.post(form, {"password1": FRESH, "password2": FRESH}))
    is_of(event, somebody, "password.reset")
    assert link.rpartition("/")[2] not in everything(event)
    assert FRESH not in everything(event)


IN_EARNEST = pytest.mark.django_db(transaction=True, serialized_rollback=True)  # django-allauth signals on commit


@IN_EARNEST
def test_a_second_factor_that_is_set_up_and_removed(client, somebody, since):
    confirm(client)
    shown = client.get("/account/second-factor/on").content.decode()
    secret = re.search(r'class="secret">([A-Z2-7]+)<', shown)[1]
    code = code_of(secret)
    (set_,) = since(lambda: client.post("/account/second-factor/on", {"code": code}))
    is_of(set_, somebody, "second_factor.create")
    assert secret not in everything(set_)
    assert f'"{code}"' not in everything(set_)
    (removed,) = since(lambda: client.post("/account/second-factor/off"))
    is_of(removed, somebody, "second_factor.delete")


@IN_EARNEST
def test_new_recovery_codes(client, somebody, since):
    set_up(client)
    (event,) = since(lambda: client.post("/account/recovery-codes/new"))
    is_of(event, somebody, "second_factor.update")


def test_a_wrong_code_at_the_login_is_refused(client, somebody, since):
    set_up(client)
    other = browser()
    log_in(other, somebody)
    (event,) = since(lambda: other.post("/account/code", {"code": "918273"}))
    assert event.outcome == "refused"
    assert "918273" not in everything(event)


def test_an_invitation_that_is_accepted(since):
    invited = invitation()
    (event,) = since(
        lambda: browser().post(f"/invitations/{TOKEN}", {"name": "Nia New", "password": "a sentence that is long"})
    )
    user = User.objects.get(email="new@example.org")
    is_of(event, user, "members.accept")
    assert (event.object_id, event.route) == (invited.public_id, "/invitations/:token")
    assert TOKEN not in everything(event)


def test_an_invitation_accepted_with_an_existing_account(client, somebody, since):
    invited = invitation(somebody.email)
    client.get("/account")
    (event,) = since(lambda: client.post(f"/invitations/{TOKEN}"))
    assert (event.action, event.actor, event.object_id) == ("members.accept", somebody.email, invited.public_id)
    assert event.organization_id == invited.organization_id, "not the organization that they act in"


def test_an_organization_gets_no_events_of_a_person_who_left(client, somebody, since):
    place = Membership.objects.get(user=somebody)
    client.post("/account/organization", {"organization": ids.encode("org", place.organization_id)})
    Membership.objects.filter(user=somebody).update(organization=OrganizationFactory())
    (event,) = since(lambda: change(client))
    is_of(event, somebody, "password.update")


def test_an_invitation_that_is_not_theirs(client, somebody, since):
    invitation()
    (event,) = since(lambda: client.post(f"/invitations/{TOKEN}"))
    assert (event.outcome, event.status, event.actor) == ("refused", 403, somebody.email)


def test_a_change_that_cannot_be_recorded_is_not_made(client, somebody, monkeypatch):
    set_up(client)
    invitation()
    with monkeypatch.context() as away:
        away.setattr(trail, "insert", fail)
        assert change(client).status_code == 503
        assert client.post("/account/second-factor/off").status_code == 503
        joining = browser().post(f"/invitations/{TOKEN}", {"name": "Nia", "password": "a sentence that is long"})
        assert joining.status_code == 503
    somebody.refresh_from_db()
    assert somebody.check_password(PASSWORD)
    assert log_in(browser(), somebody)["Location"] == "/account/code"
    assert not User.objects.filter(email="new@example.org").exists()


def invitation(email="new@example.org"):
    organization, inviter = OrganizationFactory(), UserFactory()
    admin = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=organization, user=inviter, role=admin)
    return Membership.objects.create(
        organization=organization,
        email=email,
        role=Role.objects.get(organization=None, name="reviewer"),
        invited_by=inviter,
        token_digest=hashlib.sha256(TOKEN.encode()).digest(),
        expires_at=timezone.now() + timedelta(days=7),
    )


def fail(*_, **__):
    raise DatabaseError("the disk is full")
