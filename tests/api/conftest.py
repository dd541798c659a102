"""A world of one organization, the operating one, and another one beside it."""

import pytest

from autotune.access import roles
from autotune.access.audit import trail
from autotune.access.models import Membership, Role
from tests.api.documented import World
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    DeliveryFactory,
    ErasureFactory,
    GraderFactory,
    LegalHoldFactory,
    OrganizationFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
)
from tests.fakes import FakeGrader, serving


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
        hold=LegalHoldFactory(organization=organization, model_id="another"),
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
    permissions = [*roles.permissions("organization_admin"), makes]
    return Role.objects.create(organization=organization, name="operator", permissions=permissions)


@pytest.fixture
def world(db):
    organization = OrganizationFactory(operating=True)
    with serving(FakeGrader()) as fake:
        yield world_of(ApiKeyFactory(organization=organization, role=runs_the_installation(organization)), fake.url)


@pytest.fixture
def elsewhere(db):
    """Another organization."""
    return world_of(ApiKeyFactory(), "https://elsewhere.example.org")
