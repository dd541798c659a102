"""The page of an invitation's link: for a new person, an existing person, another person, and after its expiry."""

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import Membership, Role, User
from tests.access.accounts.people import LOGIN, PASSWORD, browser, is_in, log_in, logged_in, person
from tests.factories import OrganizationFactory, UserFactory

pytestmark = pytest.mark.django_db
TOKEN = "t" * 43
LINK = f"/invitations/{TOKEN}"
GOOD = {"name": "Nia New", "password": "a sentence that is long"}


def role(name):
    return Role.objects.get(organization=None, name=name)


@pytest.fixture
def invited():
    organization, inviter = OrganizationFactory(name="Lund Law"), UserFactory()
    Membership.objects.create(organization=organization, user=inviter, role=role("organization_admin"))
    return Membership.objects.create(
        organization=organization,
        email="new@example.org",
        role=role("reviewer"),
        invited_by=inviter,
        token_digest=hashlib.sha256(TOKEN.encode()).digest(),
        expires_at=timezone.now() + timedelta(days=7),
    )


def test_a_new_person_creates_an_account_and_becomes_a_member(invited):
    client = browser()
    page = client.get(LINK)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert "Lund Law" in page.content.decode()
    assert client.post(LINK, GOOD)["Location"] == "/"
    assert is_in(client)
    user = User.objects.get(email="new@example.org")
    assert (user.name, user.check_password(GOOD["password"]), user.is_staff) == ("Nia New", True, False)
    invited.refresh_from_db()
    assert (invited.user, invited.token_digest, invited.role.name) == (user, None, "reviewer")
    assert browser().get(LINK).status_code == 404


def test_email_and_role_come_from_the_invitation_and_not_from_the_form(invited):
    browser().post(LINK, {**GOOD, "email": "evil@example.org", "role": "admin", "is_staff": "on"})
    assert list(User.objects.filter(email__in=["evil@example.org", "new@example.org"]).values_list("email")) == [
        ("new@example.org",)
    ]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({**GOOD, "password": "short"}, "too short"),
        ({**GOOD, "password": "new@example.org"}, "too similar"),
        ({**GOOD, "name": ""}, "required"),
        ({**GOOD, "name": "x" * 201}, "at most 200"),
        ({**GOOD, "password": "nul \0 in a password"}, "Null characters"),
    ],
)
def test_an_invalid_form_creates_nothing_and_shows_why(invited, body, fault):
    answer = browser().post(LINK, body)
    assert answer.status_code == 200
    assert fault in answer.content.decode()
    assert not User.objects.filter(email="new@example.org").exists()


def test_a_person_with_an_account_logs_in_before_joining(invited):
    user = person("new@example.org")
    client = browser()
    page = client.get(LINK)
    assert f"/account/login?next={LINK}" in page.content.decode()
    assert client.post(LINK, GOOD).status_code == 200
    assert User.objects.filter(email="new@example.org").count() == 1
    assert client.post(LOGIN, {"login": user.email, "password": PASSWORD, "next": LINK})["Location"] == LINK
    assert client.post(LINK)["Location"] == "/"
    invited.refresh_from_db()
    assert invited.user == user
    assert "Lund Law" in client.get("/account").content.decode()


def test_another_person_cannot_accept_the_invitation(invited):
    client = logged_in(person("other@example.org"))
    assert "logged in as other@example.org" in client.get(LINK).content.decode()
    assert client.post(LINK).status_code == 403
    invited.refresh_from_db()
    assert invited.user is None


@pytest.mark.parametrize("why", ["expired", "suspended", "withdrawn", "sent again", "its sender left"])
def test_an_invalid_link_is_reported(invited, why):
    if why == "expired":
        Membership.objects.filter(pk=invited.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    elif why == "suspended":
        type(invited.organization).objects.update(suspended=True)
    elif why == "withdrawn":
        invited.delete()
    elif why == "sent again":
        Membership.objects.filter(pk=invited.pk).update(token_digest=b"x" * 32)
    else:
        Membership.objects.filter(user=invited.invited_by).delete()
    assert browser().get(LINK).status_code == 404
    assert browser().post(LINK, GOOD).status_code == 404
    assert not User.objects.filter(email="new@example.org").exists()


def test_an_existing_member_uses_up_the_link_and_keeps_their_role(invited):
    user = person("new@example.org")
    Membership.objects.create(organization=invited.organization, user=user, role=role("organization_admin"))
    client = logged_in(user)
    assert client.post(LINK)["Location"] == "/"
    assert Membership.objects.get(user=user).role.name == "organization_admin"
    assert log_in(browser(), user)["Location"] == "/"


@pytest.mark.parametrize("token", ["x", "%00", "é", "..%2f..", "t" * 3_000, "' or 1=1"])
def test_invented_tokens_are_rejected(db, token):
    assert browser().get(f"/invitations/{token}").status_code == 404
