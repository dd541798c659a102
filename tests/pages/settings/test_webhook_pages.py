"""Webhooks on their pages: a secret that is shown once, deliveries, and who sees which."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.webhooks.models import Delivery, Event, Webhook
from tests.factories import DeliveryFactory, OrganizationFactory, WebhookFactory
from tests.support.receiving import Receiver, receiving

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
LIST, NEW = "/settings/webhooks", "/settings/webhooks/new"
URL = "https://hooks.example.org/autotune?token=abc"


@pytest.fixture
def receiver():
    with receiving(Receiver()) as running:
        yield running


def page_of(hook):
    return f"{LIST}/{hook.public_id}"


def body_of(ticket, **more):
    return {"url": URL, "events": ["score.completed", "score.failed"], "description": "", "ticket": ticket, **more}


def mine(client, **more):
    return WebhookFactory(organization=client.organization, created_by=client.user, **more)


def test_a_webhook_is_made_and_its_secret_shown_once(visitor, ticket_at, secret_in):
    client = visitor()
    data = body_of(ticket_at(client, NEW))
    answer = client.post(NEW, data)
    hook = Webhook.objects.get()
    assert (answer.status_code, secret_in(answer)) == (201, hook.secret)
    assert (hook.url, hook.events, hook.created_by) == (URL, ["score.completed", "score.failed"], client.user)
    assert "standardwebhooks" in answer.content.decode()
    again = client.post(NEW, data)
    assert (again.status_code, secret_in(again), Webhook.objects.count()) == (400, None, 1)
    for path in (LIST, page_of(hook)):
        assert hook.secret not in client.get(path).content.decode()


def test_an_address_that_is_not_called_is_refused_at_its_field(visitor, ticket_at):
    client = visitor()
    answer = client.post(NEW, body_of(ticket_at(client, NEW), url="https://10.0.0.1/x"))
    assert answer.status_code == 400
    assert 'id="id_url_error"' in answer.content.decode()
    assert 'value="https://10.0.0.1/x"' in answer.content.decode()
    assert not Webhook.objects.exists()


def test_a_person_is_offered_the_events_that_they_may_read(visitor, ticket_at):
    client = visitor("grader_owner")
    body = client.get(NEW).content.decode()
    assert "grader.status_changed" in body
    assert "score.completed" not in body
    assert "4 kinds of event are not offered" in body
    answer = client.post(NEW, body_of(ticket_at(client, NEW), events=["score.completed"]))
    assert (answer.status_code, Webhook.objects.count()) == (400, 0)


def test_the_list_masks_what_may_be_a_secret_and_the_page_does_not(visitor):
    client = visitor()
    hook = mine(client, url=URL)
    assert "token=***" in client.get(LIST).content.decode()
    assert "token=abc" not in client.get(LIST).content.decode()
    assert "token=abc" in client.get(page_of(hook)).content.decode()


def test_another_host_makes_a_new_secret_which_is_shown_once(visitor, ticket_at, secret_in):
    client = visitor()
    hook = mine(client)
    edit = f"{page_of(hook)}/edit"
    data = body_of(ticket_at(client, edit), events=hook.events)
    answer = client.post(edit, data)
    before = hook.secret
    hook = Webhook.objects.get()
    assert (hook.url, secret_in(answer) == hook.secret, hook.secret != before) == (URL, True, True)


def test_another_description_creates_no_new_secret(visitor, ticket_at):
    client = visitor()
    hook = mine(client)
    edit = f"{page_of(hook)}/edit"
    data = {"url": hook.url, "events": hook.events, "description": "dashboard", "ticket": ticket_at(client, edit)}
    assert client.post(edit, data)["Location"] == page_of(hook)
    assert (Webhook.objects.get().description, Webhook.objects.get().secret) == ("dashboard", hook.secret)


def test_a_person_who_may_not_read_an_event_can_change_the_rest(visitor, role_of, ticket_at):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, webhooks=("organization", "read", "update")), organization)
    hook = WebhookFactory(organization=organization, events=["score.completed"])
    edit = f"{page_of(hook)}/edit"
    data = {"url": hook.url, "events": hook.events, "description": "x", "ticket": ticket_at(client, edit)}
    assert client.post(edit, data).status_code == 302
    assert Webhook.objects.get().events == ["score.completed"]


def test_a_rotated_secret_is_shown_once_and_a_second_rotation_within_a_day_is_refused(visitor, ticket_at, secret_in):
    client = visitor()
    hook = mine(client)
    to = f"{page_of(hook)}/rotate"
    data = {"ticket": ticket_at(client, page_of(hook), to)}
    answer = client.post(to, data)
    assert secret_in(answer) == Webhook.objects.get().secret != hook.secret
    assert secret_in(client.post(to, data)) is None
    fresh = {"ticket": ticket_at(client, page_of(hook), to)}
    refused = client.post(to, fresh)
    assert (refused.status_code, secret_in(refused)) == (409, None)
    assert "The previous secret is still valid." in refused.content.decode()
    assert f'hx-get="{page_of(hook)}"' in refused.content.decode()  # the deliveries stay visible there
    forced = client.post(to, {**fresh, "force": "yes"})
    assert secret_in(forced) == Webhook.objects.get().secret


def test_a_webhook_is_switched_off_and_on(visitor):
    client = visitor()
    hook = mine(client)
    client.post(f"{page_of(hook)}/switch", {"to": "disabled"})
    assert Webhook.objects.get().status == "disabled"
    assert "Switched off by its owner." in client.get(page_of(hook)).content.decode()
    client.post(f"{page_of(hook)}/switch", {"to": "active"})
    assert Webhook.objects.get().status == "active"


def test_a_deleted_webhook_is_not_found(visitor):
    client = visitor()
    hook = mine(client)
    assert client.post(f"{page_of(hook)}/delete")["Location"] == LIST
    assert client.get(page_of(hook)).status_code == 404


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_test_shows_the_response_of_the_endpoint(visitor, receiver):
    client = visitor()
    hook = mine(client, url=receiver.url)
    body = client.post(f"{page_of(hook)}/test", follow=True).content.decode()
    assert "The test was delivered: it answered 20" in body
    assert "webhook.test" in body
    assert Delivery.objects.get().status == "delivered"
    again = client.post(f"{page_of(hook)}/test", follow=True).content.decode()
    assert "This webhook was tested a moment ago." in again


def test_deliveries_show_their_attempts_with_the_responses(visitor):
    client = visitor()
    hook = mine(client)
    delivery = DeliveryFactory(webhook=hook, status="parked", attempt=2, ended_at=timezone.now())
    delivery.log = [
        {
            "at": "2026-11-28T15:01:02.000Z",
            "status": 503,
            "latencyMs": 12.0,
            "error": "It answered 503.",
            "excerpt": HOSTILE,
        },
        {
            "at": "2026-11-28T15:02:02.000Z",
            "status": None,
            "latencyMs": 10000.0,
            "error": "No answer.",
            "excerpt": None,
        },
    ]
    delivery.save()
    body = client.get(page_of(hook)).content.decode()
    for text in (
        "given up",
        "2 tries",
        "It answered 503.",
        "No answer",
        "&lt;script&gt;alert(1)",
        delivery.event.public_id,
    ):
        assert text in body
    assert "<script>alert" not in body


def test_a_parked_delivery_is_sent_again(visitor):
    client = visitor()
    hook = mine(client)
    delivery = DeliveryFactory(webhook=hook, status="parked", ended_at=timezone.now())
    answer = client.post(f"{page_of(hook)}/deliveries/{delivery.public_id}/redeliver")
    delivery.refresh_from_db()
    assert (answer["Location"], delivery.status, delivery.ended_at) == (page_of(hook), "pending", None)


def test_a_delivery_of_another_webhook_is_not_reached_through_ones_own(visitor):
    client = visitor()
    hook, foreign = mine(client), DeliveryFactory(status="parked", ended_at=timezone.now())
    client.post(f"{page_of(hook)}/deliveries/{foreign.public_id}/redeliver")
    foreign.refresh_from_db()
    assert foreign.status == "parked"


@pytest.mark.parametrize("what", ["/edit", "/test", "/switch", "/rotate", "/delete"])
def test_a_webhook_of_another_organization_is_not_found(visitor, what):
    client, hook = visitor(), WebhookFactory()
    assert client.get(page_of(hook)).status_code == 404
    assert client.post(f"{page_of(hook)}{what}", {"to": "disabled"}).status_code == 404
    hook.refresh_from_db()
    assert (hook.status, hook.deleted_at) == ("active", None)
    assert "receiver.example.org" not in client.get(LIST).content.decode()


def test_an_owner_of_graders_sees_only_their_own_webhooks(visitor):
    organization = OrganizationFactory()
    client = visitor("grader_owner", organization)
    other = WebhookFactory(organization=organization, url="https://other.example.org/x")
    mine(client, url="https://mine.example.org/x")
    body = client.get(LIST).content.decode()
    assert ("mine.example.org" in body, "other.example.org" in body) == (True, False)
    assert client.get(page_of(other)).status_code == 404


def test_a_read_only_role_sees_no_forms(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, webhooks=("organization", "read")), organization)
    hook = WebhookFactory(organization=organization)
    DeliveryFactory(webhook=hook)
    body = client.get(LIST).content.decode() + client.get(page_of(hook)).content.decode()
    for word in (
        "Add a webhook",
        "Send a test",
        "Deliver again",
        "Create a new secret",
        "Switch it off",
        "Yes, delete",
    ):
        assert word not in body
    for what in ("/edit", "/test", "/switch", "/rotate", "/delete"):
        assert client.post(f"{page_of(hook)}{what}").status_code == 403


def test_many_deliveries_take_few_queries(visitor, keys_at_hand, django_assert_max_num_queries):
    client = visitor()
    hook = mine(client, failing_since=timezone.now() - timedelta(hours=2))
    for _ in range(25):
        delivery = DeliveryFactory(webhook=hook)
        delivery.log = [
            {"at": "2026-11-28T14:02:00.000Z", "status": 500, "latencyMs": 1.0, "error": "e", "excerpt": "x"}
        ]
        delivery.save()
    keys_at_hand()
    with django_assert_max_num_queries(20):
        body = client.get(page_of(hook)).content.decode()
    assert body.count("<summary>") >= 20
    assert "failing" in body
    assert Event.objects.count() == 25
