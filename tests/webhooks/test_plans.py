"""Claiming deliveries reads what it takes, whatever PostgreSQL's statistics say of the deliveries that wait."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from autotune.webhooks import endpoints
from autotune.webhooks.delivery import claims
from autotune.webhooks.models import Delivery, Event
from bench.plan_capture import Capture
from tests.factories import WebhookFactory

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
QUEUED = 12_000


@pytest.fixture
def rows_read():
    """`rows_read(work)`: the most deliveries that a node of the plan read."""

    def take(work):
        capture = Capture(state="stale", path="test")
        with connection.execute_wrapper(capture):
            work()
        return max(node.looked_at for plan in capture.plans for node in plan.nodes)

    return take


def analyze():
    with connection.cursor() as cursor:
        cursor.execute("analyze")


def queue(webhook, **fields):
    due_at = timezone.now() - timedelta(minutes=1)
    events = [Event(organization=webhook.organization, kind="grader.status_changed") for _ in range(QUEUED)]
    Event.objects.bulk_create(events)
    Delivery.objects.bulk_create(Delivery(webhook=webhook, event=event, next_at=due_at, **fields) for event in events)


@pytest.mark.parametrize("analyzed", ["before", "after"])
def test_a_claim_reads_no_more_deliveries_than_it_takes(rows_read, analyzed):
    webhook = WebhookFactory()
    if analyzed == "before":
        queue(webhook, status="delivered")
        analyze()
    queue(webhook)
    if analyzed == "after":
        analyze()
    assert rows_read(lambda: claims.claim({}, room=64, struggling_room=0)) <= 2 * claims.PER_ENDPOINT
    assert Delivery.objects.filter(attempt=1).count() == claims.PER_ENDPOINT


def test_finding_deliveries_of_disabled_endpoints_reads_no_others(rows_read):
    queue(WebhookFactory())
    WebhookFactory(status="disabled")
    analyze()
    assert rows_read(endpoints.park_remaining) <= 2
