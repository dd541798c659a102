"""A world of one organization, the operating one, and another one beside it."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.db import transaction
from django.utils import timezone

from autotune.access.audit import sealing, trail
from autotune.access.models import Membership, Role
from autotune.access.roles import builtin
from autotune.webhooks.models import Event
from tests.api.documented import World
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    DeliveryFactory,
    ErasureFactory,
    ExportFactory,
    GraderFactory,
    LegalHoldFactory,
    OrganizationFactory,
    ReviewFactory,
    RewardEndpointFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
)
from tests.support.fakes import FakeGrader, serving


def world_of(key, endpoint):
    organization = key.organization
    grader = GraderFactory(organization=organization, endpoint=endpoint)
    task = TaskFactory(organization=organization, graders=[grader])
    run = RunFactory(completion=CompletionFactory(task=task, metadata={"a": 1}), status="completed", attempt=1)
    dimensions = [{"name": "tone", "value": 1.0, "weight": None}]
    score = ScoreFactory(run=run, reasoning="Right.", dimensions=dimensions)
    return World(
        api=Api(key.text),
        grader=grader,
        task=task,
        completion=run.completion,
        score=score,
        spare_grader=GraderFactory(organization=organization),
        spare_task=TaskFactory(organization=organization, graders=[grader]),
        delivery=DeliveryFactory(webhook__organization=organization, webhook__url=f"{endpoint}/health"),
        review=ReviewFactory(run__completion__task=task, dimensions=dimensions),
        erasure=ErasureFactory(organization=organization),
        export=ExportFactory(organization=organization, files={"records.jsonl": b'{"prompt":"p"}\n'}),
        hold=LegalHoldFactory(organization=organization, model_id="another"),
        reward_endpoint=RewardEndpointFactory(task=task, created_by=key.user, deadline_ms=1),
        spare_key=ApiKeyFactory(organization=organization, user=key.user, role="reviewer"),
        member=_member(organization),
        event=trail.record(action="tests.begin", resource="tests", organization=organization),
        role=Role.objects.create(organization=organization, name="spare", permissions=[]),
    )


def _member(organization):
    key = ApiKeyFactory(organization=organization, role="reviewer")
    return Membership.objects.get(organization=organization, user=key.user)


def runs_the_installation(organization):
    """An admin of the organization, who also makes organizations; sees nothing of the others."""
    makes = {"resource": "organizations", "actions": ["create"], "scope": "all"}
    permissions = [*builtin.permissions("organization_admin"), makes]
    return Role.objects.create(organization=organization, name="operator", permissions=permissions)


@contextmanager
def undone():
    """A transaction that is rolled back at the end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def laid(django_db_setup, django_db_blocker):
    """The two worlds, made once for a module's tests: each of these works in a savepoint and leaves them as they are."""
    with django_db_blocker.unblock(), undone(), serving(FakeGrader()) as fake:
        organization = OrganizationFactory(operating=True)
        key = ApiKeyFactory(organization=organization, role=runs_the_installation(organization))
        worlds = world_of(key, fake.url), world_of(ApiKeyFactory(), "https://elsewhere.example.org")
        sealing.seal()  # these two wait for no worker: `/moving` would complain after a while
        Event.objects.update(fanned_out_at=timezone.now())
        yield worlds


@pytest.fixture
def world(laid, db):
    return replace(laid[0], api=Api(laid[0].api.key))


@pytest.fixture
def elsewhere(laid, db):
    """Another organization."""
    return replace(laid[1], api=Api(laid[1].api.key))
