"""The pump: it loses nothing when it dies, several share the work, and one dead endpoint delays no other."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from autotune.core.outbound.calls import OutboundResponse
from autotune.webhooks import cleaning, jobs
from autotune.webhooks.delivery import attempts, claims, results
from autotune.webhooks.delivery.claims import PER_ENDPOINT, claim
from autotune.webhooks.delivery.pump import Pump, PumpThread, deliver_due
from autotune.webhooks.events import fanout
from autotune.webhooks.models import Delivery, Event, Webhook
from tests.factories import WEBHOOK_SECRET, WebhookFactory
from tests.support.concurrency import aside, together, until
from tests.support.receiving import Receiver, receiving

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def thread():
    """The pump of a worker process."""
    running = PumpThread()
    running.start()
    yield running
    running.stop()
    until(lambda: not any(live_thread.name == "webhooks" for live_thread in threading.enumerate()))


def delivered():
    return Delivery.objects.filter(status="delivered").count()


def test_due_deliveries_are_sent_without_any_message(webhook, receiver, tell, thread):
    tell(5)
    until(lambda: delivered() == 5)
    assert len(receiver.received) == 5


def test_a_pump_killed_between_fan_out_and_delivery_loses_nothing(webhook, receiver, tell, pump):
    tell(3)
    fanout.fan_out()
    assert len(claim({}, room=10, struggling_room=1)) == 3  # claimed, and then its process is gone
    pump(0.5)
    assert receiver.received == []
    lost = timezone.now() - timedelta(seconds=1)
    Delivery.objects.update(next_at=lost, leased_until=lost)  # the lease runs out
    pump()
    assert (delivered(), len(receiver.received)) == (3, 3)
    assert set(Delivery.objects.values_list("attempt", "failures")) == {(2, 0)}


def test_a_lease_is_longer_than_an_attempt():
    assert timedelta(milliseconds=attempts.TIMEOUT_MS) < claims.LEASE


def test_a_failure_of_a_lost_lease_is_not_written_and_a_success_is(webhook, receiver, tell, monkeypatch):
    tell()
    fanout.fan_out()
    (first,) = claim({}, room=1, struggling_room=1)
    Delivery.objects.update(next_at=timezone.now())
    (second,) = claim({}, room=1, struggling_room=1)
    now = timezone.now()
    results.settle([attempts.outcome(first, OutboundResponse(500, [], b"", 1.0), now)])
    row = Delivery.objects.get()
    assert (row.status, row.failures, row.log) == ("pending", 0, None)
    results.settle([attempts.outcome(first, OutboundResponse(200, [], b"", 1.0), now)])
    results.settle([attempts.outcome(second, OutboundResponse(500, [], b"", 1.0), now)])
    row.refresh_from_db()
    assert (row.status, len(row.log)) == ("delivered", 1)


@pytest.mark.postgres
def test_several_pumps_share_the_work(webhook, receiver, tell):
    tell(300)
    together(*[lambda: Pump().drain()] * 4)
    assert (delivered(), len(receiver.received)) == (300, 300)
    assert Delivery.objects.count() == 300


def test_one_dead_endpoint_delays_no_other(organization, tell, monkeypatch):
    monkeypatch.setattr("autotune.webhooks.delivery.attempts.TIMEOUT_MS", 4_000)
    dead, well = Receiver(), Receiver()
    dead.gate.clear()
    with receiving(dead, well):
        WebhookFactory(organization=organization, url=dead.url)
        alive = WebhookFactory(organization=organization, url=well.url)
        tell(100)
        start = time.monotonic()
        working = aside(lambda: Pump().drain(6.0))
        until(lambda: Delivery.objects.filter(webhook=alive, status="delivered").count() == 100)
        assert time.monotonic() - start < 4.0
        assert len(dead.received) <= PER_ENDPOINT
        dead.gate.set()
        working.result(20)
        assert len(well.received) == 100


def test_a_failing_endpoint_gets_one_attempt_at_a_time(webhook, tell):
    tell(5)
    fanout.fan_out()
    Webhook.objects.update(failing_since=timezone.now() - timedelta(hours=1))
    (trial,) = claim({}, room=10, struggling_room=10)
    assert trial.struggling
    assert claim({webhook.pk: 1}, room=10, struggling_room=10) == []


def test_the_pump_claims_no_more_than_its_capacity(webhook, tell):
    tell(40)
    fanout.fan_out()
    assert claim({}, room=0, struggling_room=0) == []
    assert len(claim({}, room=3, struggling_room=0)) == 3
    assert len(claim({webhook.pk: 3}, room=100, struggling_room=0)) == PER_ENDPOINT - 3
    assert claim({webhook.pk: PER_ENDPOINT}, room=100, struggling_room=0) == []


def test_no_connection_is_held_during_attempts(webhook, receiver, tell):
    receiver.gate.clear()
    tell()
    held = []
    receiver.answer = lambda request: held.append(connection.connection) or 204
    working = aside(lambda: Pump().drain(10.0))
    until(lambda: receiver.received)
    receiver.gate.set()
    working.result(20)
    assert (delivered(), held) == (1, [None])


def test_a_stopping_pump_waits_for_open_attempts(webhook, receiver, tell, thread):
    receiver.gate.clear()
    tell()
    until(lambda: receiver.received)
    thread.stop()
    receiver.gate.set()
    thread.join()
    assert (delivered(), len(receiver.received)) == (1, 1)


def test_unfinished_attempts_of_a_stopped_pump_pass_to_others(webhook, receiver, tell, thread, monkeypatch):
    monkeypatch.setattr("autotune.webhooks.delivery.pump.GRACE_S", 0.1)
    receiver.gate.clear()
    tell()
    until(lambda: receiver.received)
    thread.stop()
    until(lambda: Delivery.objects.get().leased_until is None)
    row = Delivery.objects.get()
    assert (row.status, row.failures, row.next_at <= timezone.now()) == ("pending", 0, True)


def test_an_unavailable_database_pauses_the_pump(webhook, receiver, tell, thread, monkeypatch):
    away, settle = [1, 1], results.settle

    def failing(outcomes):
        if away:
            away.pop()
            raise OperationalError("away")
        settle(outcomes)

    monkeypatch.setattr("autotune.webhooks.delivery.pump.results.settle", failing)
    tell()
    until(lambda: delivered() == 1)
    assert len(receiver.received) == 1  # the answer was kept until it could be saved


def test_the_job_delivers_unless_the_pump_of_this_process_does(webhook, receiver, tell):
    tell()
    jobs.deliver()
    assert delivered() == 1
    receiver.gate.clear()
    tell()
    working = aside(deliver_due)
    until(lambda: len(receiver.received) == 2)
    jobs.deliver()
    assert (working.done(), len(receiver.received)) == (False, 2)  # it did not wait, and the receiver still does
    receiver.gate.set()
    working.result(20)
    assert (delivered(), len(receiver.received)) == (2, 2)


def test_events_and_deleted_webhooks_are_removed_after_thirty_days(webhook, receiver, tell, pump):
    tell(3)
    pump()
    receiver.answer = lambda request: 500
    tell()
    pump()
    before = timezone.now() - timedelta(days=31)
    old, young, _, pending = Event.objects.order_by("pk")
    Event.objects.exclude(pk=young.pk).update(created_at=before)
    Delivery.objects.filter(event__in=[old, pending]).update(ended_at=before)
    assert cleaning.clean(timezone.now()) == 1
    assert not Event.objects.filter(pk=old.pk).exists()
    Webhook.objects.update(deleted_at=before)
    cleaning.clean(timezone.now())
    assert Webhook.objects.count() == 1  # deliveries still name it
    Event.objects.all().delete()
    cleaning.clean(timezone.now())
    assert Webhook.objects.count() == 0


def test_every_emitted_event_arrives(webhook, receiver, tell, pump):
    receiver.script = [lambda request: 500] * 3
    tell(20)
    pump()
    Delivery.objects.filter(status="pending").update(next_at=timezone.now())
    pump()
    grader_ids = {got.verified(WEBHOOK_SECRET)["data"]["graderId"] for got in receiver.received}
    assert grader_ids == {f"grader_{n}" for n in range(20)}
