"""A world of one organization, the operating one, and another one beside it."""

import pytest

from tests.api.documented import World
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    DeliveryFactory,
    GraderFactory,
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
    )


@pytest.fixture
def world(db):
    with serving(FakeGrader()) as fake:
        yield world_of(ApiKeyFactory(organization__operating=True), fake.url)


@pytest.fixture
def elsewhere(db):
    """Another organization."""
    return world_of(ApiKeyFactory(), "https://elsewhere.example.org")
