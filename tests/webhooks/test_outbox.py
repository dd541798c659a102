"""Events are rows of the change that they report: none without it, and none without a subscriber."""

import pytest
from django.db import connection, transaction

from autotune.core.bulk import insert
from autotune.webhooks.events import fanout, payloads
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Delivery, Event
from autotune.webhooks.states import EventKind
from tests.factories import GraderFactory, OrganizationFactory, WebhookFactory

pytestmark = pytest.mark.django_db
KIND = EventKind.GRADER_STATUS_CHANGED


def test_a_rolled_back_change_emits_nothing(organization):
    WebhookFactory(organization=organization)

    @transaction.atomic
    def fails_at_its_end():
        emit(KIND, [EmittedEvent(organization.pk, data={"a": 1})])
        assert Event.objects.count() == 1
        raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_at_its_end()
    assert Event.objects.count() == 0


def test_events_are_stored_only_for_subscribed_organizations(organization):
    deaf = [OrganizationFactory() for _ in range(4)]
    WebhookFactory(organization=organization)
    WebhookFactory(organization=deaf[0], events=["score.failed"])
    WebhookFactory(organization=deaf[1], status="disabled")
    WebhookFactory(organization=deaf[2], deleted_at="2026-01-01T00:00Z")
    emit(KIND, [EmittedEvent(owner.pk, data={}) for owner in (organization, *deaf)])
    assert [event.organization_id for event in Event.objects.all()] == [organization.pk]


@pytest.mark.parametrize("count", [1, 50])
def test_any_number_takes_two_queries(organization, count, django_assert_num_queries):
    WebhookFactory(organization=organization)
    emit(KIND, [EmittedEvent(organization.pk, data={})])  # makes the data key
    with django_assert_num_queries(2):
        emit(KIND, [EmittedEvent(organization.pk, organization.pk)] * count)
    with django_assert_num_queries(1):
        emit(EventKind.SCORE_FAILED, [EmittedEvent(organization.pk, organization.pk)] * count)
    with django_assert_num_queries(0):
        emit(KIND, [])


def test_data_is_ciphertext_at_rest(organization):
    WebhookFactory(organization=organization)
    emit(KIND, [EmittedEvent(organization.pk, data={"secret": "marmalade"})])
    fanout.fan_out()
    with connection.cursor() as cursor:
        cursor.execute("select data, body from webhooks_event")
        data, body = cursor.fetchone()
    assert b"marmalade" not in bytes(data) + bytes(body)
    assert "marmalade" in Event.objects.get().body


def test_a_deleted_subject_drops_only_its_own_event(organization, monkeypatch):
    WebhookFactory(organization=organization, events=["score.completed"])
    here, gone = OrganizationFactory().pk, OrganizationFactory().pk
    monkeypatch.setitem(payloads._renderers, EventKind.SCORE_COMPLETED, lambda keys: {here: {"n": 1}})
    emit(EventKind.SCORE_COMPLETED, [EmittedEvent(organization.pk, here), EmittedEvent(organization.pk, gone)])
    assert fanout.fan_out() == 2
    assert fanout.fan_out() == 0
    assert Delivery.objects.get().event.subject_id == here


def test_a_subject_that_cannot_be_rendered_blocks_no_other(organization, monkeypatch):
    WebhookFactory(organization=organization, events=["score.completed"])
    good, bad = OrganizationFactory().pk, OrganizationFactory().pk

    def render(keys):
        if bad in keys:
            raise ValueError("damaged")
        return {key: {"n": 1} for key in keys}

    monkeypatch.setitem(payloads._renderers, EventKind.SCORE_COMPLETED, render)
    emit(EventKind.SCORE_COMPLETED, [EmittedEvent(organization.pk, key) for key in (bad, good)])
    fanout.fan_out()
    assert Delivery.objects.get().event.subject_id == good
    assert Event.objects.filter(fanned_out_at=None).count() == 0


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_number_of_queries_of_a_fan_out_does_not_grow(organization, django_assert_max_num_queries):
    WebhookFactory(organization=organization)
    emit(KIND, [EmittedEvent(organization.pk, data={})])
    fanout.fan_out()
    emit(KIND, [EmittedEvent(organization.pk, data={})] * 100)
    with django_assert_max_num_queries(8 if connection.vendor == "postgresql" else 9):
        fanout.fan_out()
    assert Delivery.objects.count() == 101


def test_a_webhook_for_own_graders_gets_no_events_of_others(organization):
    own = GraderFactory(organization=organization)
    other = GraderFactory(organization=organization)
    webhook = WebhookFactory(organization=organization, created_by=own.created_by, own_only=True)
    everybody = WebhookFactory(organization=organization)
    for grader in (own, other):
        emit(KIND, [EmittedEvent(organization.pk, grader.pk, {})])
    emit(KIND, [EmittedEvent(organization.pk, data={})])  # about nobody knows whose
    fanout.fan_out()
    assert [delivery.event.subject_id for delivery in Delivery.objects.filter(webhook=webhook)] == [own.pk]
    assert Delivery.objects.filter(webhook=everybody).count() == 3


@pytest.mark.postgres
def test_the_sql_condition_matches_the_same_subscriptions(organization):
    WebhookFactory(organization=organization, events=["score.failed", "score.completed"])
    organizations = [organization, OrganizationFactory()]
    for kind, expected in ((EventKind.SCORE_COMPLETED, 1), (KIND, 0)):
        with connection.cursor() as cursor:
            cursor.execute(
                "select count(*) from (select unnest(%s::uuid[]) as organization_id) due where "
                + payloads.subscribed_sql(kind, "due"),
                [[owner.pk for owner in organizations]],
            )
            assert cursor.fetchone() == (expected,)


def test_bulk_rows_without_data_are_events_too(organization):
    """As the statement that saves scores writes them: no more than these columns."""
    WebhookFactory(organization=organization, events=["score.completed"])
    rows = [
        (subject.pk, organization.pk, "score.completed", subject.pk, organization.created_at)
        for subject in [organization]
    ]
    insert(Event, ("id", "organization_id", "kind", "subject_id", "created_at"), rows)
    assert fanout.fan_out() == 1
