"""API keys on their pages: shown once, made once, and each to whom it belongs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.frame import once
from autotune.access.keys import tokens
from autotune.access.models import ApiKey, AuditEvent, Membership, Role, StoredAnswer
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory, public

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
LIST, NEW = "/settings/keys", "/settings/keys/new"


def page_of(key):
    return f"{LIST}/{key.public_id}"


def body_of(ticket, **more):
    role = public("role", Role.objects.get(organization=None, name="reviewer"))
    return {"name": "nightly", "role": role, "kind": "live", "ticket": ticket, **more}


def test_a_key_is_shown_once_on_the_answer_to_its_form(visitor, ticket_at, secret_in):
    client = visitor()
    answer = client.post(NEW, body_of(ticket_at(client, NEW)))
    secret = secret_in(answer)
    key = ApiKey.objects.get()
    assert answer.status_code == 201
    assert (tokens.find(secret).pk, key.user, key.organization) == (key.pk, client.user, client.organization)
    assert "no-store" in answer["Cache-Control"]
    for path in (LIST, page_of(key), NEW, "/settings/audit"):
        assert secret not in client.get(path).content.decode()
    assert secret not in str(dict(client.session))
    event = AuditEvent.objects.get(action="keys.create", method="POST")
    assert (event.object_id, event.outcome) == (key.public_id, "succeeded")


def test_every_field_of_the_form_applies_to_the_key(visitor, ticket_at):
    client = visitor()
    data = body_of(ticket_at(client, NEW), kind="test", expires_at="2030-01-31", networks="192.0.2.0/24\n2001:db8::1\n")
    assert client.post(NEW, data).status_code == 201
    key = ApiKey.objects.get()
    assert (key.name, key.role.name, key.kind) == ("nightly", "reviewer", "test")
    assert key.networks == ["192.0.2.0/24", "2001:db8::1/128"]
    assert f"{key.expires_at:%Y-%m-%d %H:%M}" == "2030-02-01 00:00"


def test_reloading_the_response_creates_no_second_key_and_shows_no_secret(visitor, ticket_at, secret_in):
    client = visitor()
    data = body_of(ticket_at(client, NEW))
    client.post(NEW, data)
    again = client.post(NEW, data)
    assert (again.status_code, secret_in(again)) == (400, None)
    assert "This form was already submitted" in again.content.decode()
    assert ApiKey.objects.count() == 1


def test_the_secret_is_not_stored_with_the_ticket(visitor, ticket_at):
    client = visitor()
    client.post(NEW, body_of(ticket_at(client, NEW)))
    assert [stored.answer for stored in StoredAnswer.objects.all()] == [None]


def test_a_refused_form_can_be_sent_again(visitor, ticket_at, secret_in):
    client = visitor()
    data = body_of(ticket_at(client, NEW), networks="nonsense")
    refused = client.post(NEW, data)
    assert refused.status_code == 400
    assert "Enter a network such as 192.0.2.0/24" in refused.content.decode()
    assert "nonsense" in refused.content.decode()
    assert 'value="nightly"' in refused.content.decode()
    assert ApiKey.objects.count() == 0
    assert secret_in(client.post(NEW, {**data, "networks": ""}))


@pytest.mark.parametrize("ticket", ["", "nonsense", "W10:1:x"])
def test_a_form_without_a_ticket_creates_nothing(visitor, ticket):
    client = visitor()
    answer = client.post(NEW, body_of(ticket))
    assert answer.status_code == 400
    assert "This form has expired" in answer.content.decode()
    assert ApiKey.objects.count() == 0


def test_a_ticket_is_valid_for_one_person_and_one_form(visitor, ticket_at):
    client, other = visitor(), visitor()
    key = ApiKeyFactory(organization=other.organization, user=other.user)
    ticket = ticket_at(client, NEW)
    assert other.post(NEW, body_of(ticket)).status_code == 400
    mine = ticket_at(other, NEW)
    assert other.post(f"{page_of(key)}/rotate", {"ticket": mine, "grace_hours": "1"}).status_code == 400
    assert ApiKey.objects.count() == 1


def test_a_ticket_is_refused_before_it_would_be_forgotten(visitor, ticket_at, monkeypatch):
    client = visitor()
    ticket = ticket_at(client, NEW)
    monkeypatch.setattr(once, "VALID", timedelta(seconds=-1))
    assert client.post(NEW, body_of(ticket)).status_code == 400


def test_a_key_that_could_do_more_than_its_maker_is_refused(visitor, ticket_at):
    client = visitor("training_operator")
    body = client.get(NEW).content.decode()
    assert "organization admin</option>" not in body
    above = public("role", Role.objects.get(organization=None, name="organization_admin"))
    answer = client.post(NEW, body_of(ticket_at(client, NEW), role=above))
    assert (answer.status_code, ApiKey.objects.count()) == (400, 0)


def test_members_see_their_own_keys_and_admins_all(visitor):
    organization = OrganizationFactory()
    admin, operator = visitor("organization_admin", organization), visitor("training_operator", organization)
    mine = ApiKeyFactory(organization=organization, user=operator.user, role="training_operator", name="mine")
    theirs = ApiKeyFactory(organization=organization, user=admin.user, name="theirs")
    ApiKeyFactory(name="elsewhere")
    seen = operator.get(LIST).content.decode()
    assert ("mine" in seen, "theirs" in seen, "elsewhere" in seen) == (True, False, False)
    assert operator.get(page_of(theirs)).status_code == 404
    every = admin.get(LIST).content.decode()
    assert ("mine" in every, "theirs" in every, "elsewhere" in every) == (True, True, False)
    assert operator.user.email in every
    assert admin.get(page_of(mine)).status_code == 200


def test_without_the_right_to_read_members_an_id_replaces_the_email(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, keys=("organization", "read")), organization)
    key = ApiKeyFactory(organization=organization)
    body = client.get(LIST).content.decode() + client.get(page_of(key)).content.decode()
    assert key.user.email not in body
    assert "Save" not in body
    assert "Revoke" not in body


def test_a_key_is_renamed_and_bound(visitor):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, user=client.user)
    assert client.post(page_of(key), {"name": "other", "networks": "192.0.2.7"})["Location"] == page_of(key)
    key.refresh_from_db()
    assert (key.name, key.networks) == ("other", ["192.0.2.7/32"])
    client.post(page_of(key), {"name": "other", "networks": ""})
    key.refresh_from_db()
    assert key.networks == []


def test_a_rotated_key_is_shown_once_and_the_old_one_still_works(visitor, ticket_at, secret_in):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, user=client.user)
    to = f"{page_of(key)}/rotate"
    data = {"ticket": ticket_at(client, page_of(key), to), "grace_hours": "24"}
    answer = client.post(to, data)
    new = tokens.find(secret_in(answer))
    key.refresh_from_db()
    assert (new.name, key.replaced_by_id) == (key.name, new.pk)
    assert timedelta(hours=23) < key.expires_at - timezone.now() <= timedelta(hours=24)
    assert "The old key works until" in answer.content.decode()
    assert secret_in(client.post(to, data)) is None
    assert ApiKey.objects.count() == 2
    assert "Rotate the key" not in client.get(page_of(key)).content.decode()


def test_nobody_rotates_the_key_of_another_person(visitor, ticket_at):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization)
    assert "Rotate the key" not in client.get(page_of(key)).content.decode()
    mine = ApiKeyFactory(organization=client.organization, user=client.user)
    ticket = ticket_at(client, page_of(mine), f"{page_of(mine)}/rotate")
    assert client.post(f"{page_of(key)}/rotate", {"ticket": ticket, "grace_hours": "1"}).status_code == 400
    assert ApiKey.objects.count() == 2


def test_the_page_warns_of_a_key_that_is_in_use(visitor):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, user=client.user)
    assert "It was never used." in client.get(page_of(key)).content.decode()
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(minutes=3, seconds=5))
    body = client.get(page_of(key)).content.decode()
    assert "This key was used 3 min ago" in body


def test_a_revoked_key_is_refused_and_has_no_actions(visitor):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, user=client.user)
    assert client.post(f"{page_of(key)}/revoke")["Location"] == page_of(key)
    assert tokens.find(key.text) is None
    body = client.get(page_of(key)).content.decode()
    for word in ("Save", "Rotate the key", "Yes, revoke"):
        assert word not in body


@pytest.mark.parametrize("what", ["", "/rotate", "/revoke"])
def test_a_key_of_another_organization_is_not_found(visitor, what):
    client, key = visitor(), ApiKeyFactory()
    assert client.post(f"{page_of(key)}{what}", {"name": "mine", "grace_hours": "0"}).status_code == 404
    key.refresh_from_db()
    assert (key.revoked_at, key.name) == (None, "test key")


def test_a_filter_separates_usable_from_ended_keys(visitor):
    client = visitor()
    ApiKeyFactory(organization=client.organization, user=client.user, name="working")
    over = ApiKeyFactory(organization=client.organization, user=client.user, name="over")
    tokens.revoke(over)
    usable = client.get(LIST, {"status": "usable"}).content.decode()
    ended = client.get(LIST, {"status": "ended"}).content.decode()
    assert ("working" in usable, ">over<" in usable) == (True, False)
    assert ("working" in ended, ">over<" in ended) == (False, True)


def test_hostile_names_are_text(visitor):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, user=client.user, name=HOSTILE)
    for path in (LIST, page_of(key)):
        assert "<script>alert" not in client.get(path).content.decode()


def test_many_keys_take_as_few_queries_as_one(visitor, django_assert_max_num_queries):
    client = visitor()
    role = Role.objects.get(organization=None, name="reviewer")
    for _ in range(30):
        user = UserFactory()
        Membership.objects.create(organization=client.organization, user=user, role=role)
        ApiKeyFactory(organization=client.organization, user=user, role=role)
    with django_assert_max_num_queries(20):
        assert client.get(LIST).status_code == 200
