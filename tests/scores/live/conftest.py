"""A trainer that asks for rewards of one task, and what its graders then say."""

from types import SimpleNamespace

import pytest

from scores.models import WorkflowRun
from tests.conftest import Api
from tests.factories import ApiKeyFactory, ScoreFactory, TaskFactory, public
from tests.scores.live.asking import reward_request


@pytest.fixture
def key(db):
    return ApiKeyFactory(role="training_operator")


@pytest.fixture
def live_task(key):
    """Nothing calls its grader: the tests score."""
    return TaskFactory(organization=key.organization)


@pytest.fixture
def trainer(key, live_task):
    """`trainer.ask(*responses, **members)`: the rewards."""
    api = Api(key.text)

    def ask(*items, task=live_task, **members):
        answer = api.post("/rewards", reward_request(task, *items, **members))
        assert answer.status_code == 200, answer.content
        return answer.json()["rewards"]

    def refused(*items, task=live_task, **members):
        return api.post("/rewards", reward_request(task, *items, **members))

    return SimpleNamespace(api=api, ask=ask, refused=refused)


@pytest.fixture
def score():
    """`score(reward, value)`: the grader's score of an item that is pending."""

    def make(reward, value=0.5, **more):
        (run,) = [run for run in WorkflowRun.objects.all() if public("comp", run.completion) == reward["completionId"]]
        WorkflowRun.objects.filter(pk=run.pk).update(status="completed", attempt=1)
        return ScoreFactory(run=run, value=value, **more)

    return make
