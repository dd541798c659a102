"""An event reaches every endpoint that subscribed to it: signed, the same for every try, until one is taken."""

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Standard

from autotune.core.clock import wire
from autotune.core.outbound.addresses import parse_allow
from autotune.webhooks import endpoints
from autotune.webhooks.delivery import claims, results
from autotune.webhooks.events import fanout
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.states import EventKind
from tests.factories import WEBHOOK_SECRET, OrganizationFactory, WebhookFactory
from tests.support.receiving import Receiver, receiving

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def again(**changes):
    """Let time pass: whatever is pending is due now."""
    Delivery.objects.filter(status="pending").update(next_at=timezone.now(), leased_until=None, **changes)


def only():
    return Delivery.objects.get()


def test_an_event_arrives_signed_and_in_its_documented_shape(webhook, receiver, tell, pump):
    tell()
    pump()
    event, (got,) = Event.objects.get(), receiver.received
    assert got.verified(WEBHOOK_SECRET) == {
        "event": "grader.status_changed",
        "data": {"graderId": "grader_0"},
        "timestamp": wire(event.created_at),
    }
    assert list(json.loads(got.body)) == ["event", "data", "timestamp"]
    assert got.id == event.public_id
    assert (got.path, got.headers["content-type"]) == ("/hook", "application/json")
    assert (only().status, only().attempt, only().leased_until) == ("delivered", 1, None)


def test_every_attempt_has_the_same_id_and_bytes_and_its_own_timestamp(webhook, receiver, tell, pump):
    receiver.script = [lambda request: 500, lambda request: 503]
    tell()
    pump()
    assert (only().status, only().failures) == ("pending", 1)
    again()
    pump()
    again()
    pump()
    assert only().status == "delivered"
    assert len(receiver.received) == 3
    assert len({(got.id, got.body) for got in receiver.received}) == 1
    for got in receiver.received:
        got.verified(WEBHOOK_SECRET)
    assert [entry["status"] for entry in only().log] == [500, 503, 204]


def test_all_endpoints_of_the_organization_get_it_with_one_id(webhook, organization, receiver, tell, pump):
    WebhookFactory(organization=organization, url=receiver.url + "/second")
    WebhookFactory(organization=organization, url=receiver.url + "/other", events=["review.requested"])
    WebhookFactory(url=receiver.url + "/stranger")
    tell()
    pump()
    assert sorted(got.path for got in receiver.received) == ["/hook", "/hook/second"]
    assert len({got.id for got in receiver.received}) == 1


def test_many_arrive_once_each(webhook, receiver, tell, pump):
    tell(250)
    pump()
    assert len(receiver.received) == len({got.id for got in receiver.received}) == 250
    assert Delivery.objects.filter(status="delivered").count() == 250


def test_the_wait_grows_with_each_failure(webhook, receiver, tell, pump):
    receiver.answer = lambda request: 500
    tell()
    waits = []
    for _ in range(4):
        pump()
        waits.append((only().next_at - timezone.now()).total_seconds())
        again()
    for seconds, expected in zip(waits, (5, 10, 20, 40), strict=True):
        assert expected * 0.7 - 2 < seconds <= expected * 1.25


@pytest.mark.parametrize(
    ("retry_after", "least", "most"), [("120", 115, 120), ("9999999", 43_190, 43_200), ("1", 2, 7), ("soon", 2, 7)]
)
def test_retry_after_lengthens_the_wait_within_bounds(webhook, receiver, tell, pump, retry_after, least, most):
    receiver.answer = lambda request: (429, b"", {"Retry-After": retry_after})
    tell()
    pump()
    assert least <= (only().next_at - timezone.now()).total_seconds() <= most


def test_a_redirect_is_no_delivery_and_is_not_followed(webhook, receiver, tell, pump):
    receiver.answer = lambda request: (302, b"", {"Location": receiver.url + "/elsewhere"})
    tell()
    pump()
    assert [got.path for got in receiver.received] == ["/hook"]
    assert only().status == "pending"
    assert "redirects" in only().log[0]["error"]


def test_an_address_that_is_not_called_is_a_failure_with_a_sentence(webhook, receiver, tell, pump, settings):
    settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = parse_allow("127.0.0.1/32:1")
    tell()
    pump()
    assert receiver.received == []
    assert "not allowed" in only().log[0]["error"]


def test_after_three_days_it_is_parked(webhook, receiver, tell, pump):
    receiver.answer = lambda request: 500
    tell()
    pump()
    again(queued_at=timezone.now() - timedelta(days=3, seconds=-30))
    pump()
    assert only().status == "pending"  # the last try is at the end of the three days
    assert (only().next_at - only().queued_at) <= timedelta(days=3)
    again(queued_at=timezone.now() - timedelta(days=3))
    pump()
    assert (only().status, only().ended_at is not None, len(receiver.received)) == ("parked", True, 3)
    again()
    pump()
    assert len(receiver.received) == 3


def test_a_410_disables_the_endpoint_and_notifies_its_owner(webhook, receiver, tell, pump):
    receiver.answer = lambda request: 410
    tell(3)
    pump()
    webhook.refresh_from_db()
    assert (webhook.status, webhook.disabled_reason) == ("disabled", results.GONE_REASON)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"parked"}
    (sent,) = mail.outbox
    assert sent.to == [webhook.created_by.email]
    assert webhook.public_id in sent.body
    tell()
    assert Event.objects.filter(fanned_out_at=None).count() == 0


def test_five_days_of_failures_disable_it(webhook, receiver, tell, pump):
    receiver.answer = lambda request: 500
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=5))
    tell(2)
    pump()
    webhook.refresh_from_db()
    assert (webhook.status, webhook.disabled_reason) == ("disabled", results.FAILING_REASON)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"parked"}
    assert len(mail.outbox) == 1


def test_a_success_resets_the_count_of_failures(webhook, receiver, tell, pump):
    receiver.script = [lambda request: 500]
    tell()
    pump()
    webhook.refresh_from_db()
    assert webhook.failing_since is not None
    again()
    pump()
    webhook.refresh_from_db()
    assert webhook.failing_since is None


def test_an_unavailable_mail_server_stops_no_delivery(webhook, receiver, tell, pump, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    receiver.answer = lambda request: 410
    tell()
    pump()
    webhook.refresh_from_db()
    assert webhook.status == "disabled"


def test_nothing_goes_to_an_endpoint_that_is_off_or_deleted(webhook, receiver, tell, pump):
    tell()
    endpoints.switch(webhook.pk, on=False)
    pump()
    assert (receiver.received, Delivery.objects.count()) == ([], 0)
    assert Event.objects.get().fanned_out_at is not None
    endpoints.switch(webhook.pk, on=True)
    receiver.answer = lambda request: 500
    tell()
    pump()
    endpoints.delete(webhook.pk)
    again()
    pump()
    assert len(receiver.received) == 1
    assert only().status == "parked"


def test_a_delivery_made_while_its_endpoint_was_switched_off_is_parked(webhook, tell, pump, receiver):
    endpoints.switch(webhook.pk, on=False)
    event = Event.objects.create(organization=webhook.organization, kind=EventKind.GRADER_STATUS_CHANGED)
    lost = timezone.now() - claims.LEASE
    Delivery.objects.create(webhook=webhook, event=event, leased_until=lost, next_at=lost)
    pump()
    assert (only().status, receiver.received) == ("parked", [])


def test_during_a_rotation_both_secrets_verify(webhook, receiver, tell, pump):
    rotation = endpoints.rotate(webhook.pk)
    tell()
    pump()
    (got,) = receiver.received
    for secret in (WEBHOOK_SECRET, rotation.secret):
        Standard(secret).verify(got.body, got.headers)
    Webhook.objects.update(previous_valid_until=timezone.now())
    tell()
    pump()
    assert receiver.received[1].headers["webhook-signature"].count("v1,") == 1
    receiver.received[1].verified(rotation.secret)


def test_the_stored_response_of_a_receiver_is_short_and_clean(webhook, receiver, tell, pump):
    receiver.answer = lambda request: (400, b"\x00\x1b[31mbad\r\n\xff" + "\u202e".encode() + b"x" * 5000)
    tell()
    pump()
    (entry,) = only().log
    assert entry["excerpt"].startswith("[31mbad �")
    assert len(entry["excerpt"]) == 500
    assert not any(ord(char) < 32 for char in entry["excerpt"])


def test_an_unreadable_event_is_parked_and_blocks_no_other(webhook, receiver, tell, pump):
    tell(2)
    fanout.fan_out()
    first, second = Event.objects.order_by("pk")
    stored = Event.objects.filter(pk=second.pk).values_list("body", flat=True).get()
    Event.objects.filter(pk=first.pk).update(body=stored)  # of another row: it does not decrypt
    pump()
    assert [got.id for got in receiver.received] == [second.public_id]
    assert Delivery.objects.get(event=first).status == "parked"


def test_other_organizations_never_get_the_event(receiver, tell, pump):
    WebhookFactory(organization=OrganizationFactory(), url=receiver.url)
    tell()
    pump()
    assert (Event.objects.count(), receiver.received) == (0, [])


def test_a_slow_receiver_is_cut_off_and_retried(organization, tell, pump, monkeypatch):
    monkeypatch.setattr("autotune.webhooks.delivery.attempts.TIMEOUT_MS", 300)
    slow = Receiver()
    slow.gate.clear()
    with receiving(slow):
        WebhookFactory(organization=organization, url=slow.url)
        tell()
        pump()
        assert (only().status, only().log[0]["status"]) == ("pending", None)
        assert "300 ms" in only().log[0]["error"]
        slow.gate.set()
        again()
        pump()
        assert only().status == "delivered"
