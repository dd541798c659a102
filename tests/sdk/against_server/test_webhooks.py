"""Webhooks through the client: subscribing, a test, deliveries, and the receiver's own check."""

import pytest
from autotune_sdk import ConflictError, InvalidRequest, NotFound, RateLimited, verify_webhook

from autotune.webhooks.delivery.pump import Pump
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.states import EventKind
from tests.support.receiving import Receiver, receiving
from tests.support.submitting import is_recent

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
KIND = EventKind.GRADER_STATUS_CHANGED


@pytest.fixture
def receiver():
    with receiving(Receiver()) as running:
        yield running


def test_the_whole_life_of_a_webhook(client, receiver):
    registration = client.webhooks.create(url=receiver.url + "?token=abc", events=[KIND], description="pager")
    webhook = registration.webhook
    assert (webhook.events, webhook.description, webhook.status) == ((KIND,), "pager", "active")
    assert is_recent(webhook.created_at)
    (listed,) = client.webhooks.list(status="active")
    assert (listed.id, listed.url) == (webhook.id, receiver.url + "?token=***")
    assert client.webhooks.get(webhook.id) == webhook

    changed = client.webhooks.update(webhook.id, events=("score.failed",), description=None)
    assert (changed.webhook.events, changed.webhook.description, changed.secret) == (("score.failed",), None, None)
    rotated = client.webhooks.rotate_secret(webhook.id)
    assert rotated.secret not in (None, registration.secret)
    with pytest.raises(ConflictError):
        client.webhooks.rotate_secret(webhook.id)
    assert client.webhooks.rotate_secret(webhook.id, force=True).secret != rotated.secret
    client.webhooks.delete(webhook.id)
    with pytest.raises(NotFound):
        client.webhooks.get(webhook.id)
    with pytest.raises(InvalidRequest):
        client.webhooks.create(url=receiver.url, events=[])


def test_deliveries_are_verified_and_can_be_sent_again(client, key, receiver):
    registration = client.webhooks.create(url=receiver.url, events=[KIND])
    tested = client.webhooks.test(registration.webhook.id)
    assert (tested.event, tested.status, tested.tries[0].status) == ("webhook.test", "delivered", 204)
    with pytest.raises(RateLimited):
        client.webhooks.test(registration.webhook.id)

    emit(KIND, [EmittedEvent(key.organization_id, data={"graderId": "grader_x"})])
    Pump().drain()
    (delivery,) = [row for row in client.webhooks.deliveries(registration.webhook.id) if row.event == KIND]
    assert (delivery.status, delivery.attempts, delivery.next_attempt_at) == ("delivered", 1, None)
    assert client.webhooks.redeliver(registration.webhook.id, delivery.id).status == "pending"
    Pump().drain()
    events = [verify_webhook(got.headers, got.body, registration.secret) for got in receiver.received]
    assert [event.event for event in events] == ["webhook.test", KIND, KIND]
    assert events[1] == events[2]
    assert (events[1].id, events[1].data) == (delivery.event_id, {"graderId": "grader_x"})
