"""Who gets an event when a grader's status changes: the outbox, in the transaction of the change."""

from django.db import transaction

from autotune.webhooks.models import Event, Webhook
from graders import status
from graders.states import GraderStatus, Trouble
from tests.factories import OrganizationFactory, TaskFactory, UserFactory


def listens(organization, *kinds):
    Webhook.objects.create(
        organization=organization,
        created_by=UserFactory(),
        url="https://hooks.example.org",
        events=list(kinds or ["grader.status_changed"]),
        secret="whsec_x",
    )
    return organization


def data_by_organization():
    return {event.organization_id: event.data for event in Event.objects.all()}


def task_of(organization, grader, **fields):
    return TaskFactory(organization=organization, graders=[grader], **fields)


def test_the_owner_gets_an_event_with_the_reason(grader):
    listens(grader.organization)
    status.trouble(grader.pk, Trouble.HEALTH, "ill")
    assert data_by_organization() == {
        grader.organization_id: {
            "graderId": grader.public_id,
            "previousStatus": "active",
            "currentStatus": "degraded",
            "reason": "ill",
        }
    }


def test_organizations_with_a_task_on_it_get_one_event_without_the_reason(grader):
    consumer = listens(OrganizationFactory())
    task_of(consumer, grader)
    task_of(consumer, grader)
    status.change(grader.pk, GraderStatus.INACTIVE, "a private reason")
    assert {pk: data["reason"] for pk, data in data_by_organization().items()} == {consumer.pk: None}


def test_other_organizations_get_no_event(grader):
    archived, old, other, deaf = (OrganizationFactory() for _ in range(4))
    for organization in (archived, old, other):
        listens(organization)
    listens(deaf, "score.failed")
    task_of(archived, grader, archived=True)
    moved_on = task_of(old, grader)
    moved_on.version = TaskFactory(organization=old).version
    moved_on.save()
    task_of(deaf, grader)
    status.change(grader.pk, GraderStatus.INACTIVE, "off")
    assert data_by_organization() == {}


def test_unchanged_and_rolled_back_statuses_emit_no_event(grader):
    listens(grader.organization)
    status.change(grader.pk, GraderStatus.ACTIVE, "again")
    with transaction.atomic():
        status.change(grader.pk, GraderStatus.INACTIVE, "off")
        transaction.set_rollback(True)
    assert data_by_organization() == {}
